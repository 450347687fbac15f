#include "bench/shared_lines/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <expected>
#include <utility>

#include "fmt/format.h"

namespace nfswalk::bench {

namespace {

// The command line as it was given.
struct Arguments {
  std::vector<std::string> policies = {"H0+L0+U0", "H1+L0+U0", "H2+L0+U0", "H2+L1+U0",
                                       "H2+L1+U1", "H3+L1+U1", "H5+L1+U1", "H6+L1+U1",
                                       "H7+L1+U1", "H7+L3+U1", "H8+L1+U1", "H8+L3+U1"};
  std::vector<std::string> workloads = {"bulkstat", "create", "walk", "warm", "unlink"};
  std::vector<size_t> threads = {1, 2, 4, 8, 16, 32, 64};
  uint64_t files = 128;
  uint64_t buckets_per_file = 16;
  size_t places = 0;
  std::string json_file;
};

void Declare(CLI::App& app, Arguments& arguments) {
  app.add_option("--policies", arguments.policies,
                 "Bundles of a hash, a list and an LRU policy; of H7 only what the cache does, not "
                 "what liburcu's table does inside")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--workloads", arguments.workloads,
                 "create, walk, unlink, bulkstat, fstree (slow), warm")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--threads", arguments.threads,
                 "Numbers of virtual threads, and of the processors they find, one column each")
      ->delimiter(',')
      ->check(CLI::Range(size_t{1}, size_t{Recorder::kThreadsMax}))
      ->capture_default_str();
  app.add_option("--files", arguments.files, "Files of each thread")
      ->check(CLI::Range(uint64_t{8}, uint64_t{65'536}))
      ->capture_default_str();
  app.add_option("--buckets-per-file", arguments.buckets_per_file,
                 "Size of the hash table, over the files of all threads")
      ->check(CLI::Range(uint64_t{1}, uint64_t{4096}))
      ->capture_default_str();
  app.add_option(
         "--places", arguments.places,
         "Print so many places in the code whose accesses were shared; addr2line names them")
      ->capture_default_str();
  app.add_option("--json", arguments.json_file, "Write the rows to this file too");
}

std::expected<SharedLinesOptions, std::string> Settle(const Arguments& arguments) {
  SharedLinesOptions options{.policies = {},
                             .workloads = {},
                             .threads = arguments.threads,
                             .files_per_thread = arguments.files,
                             .buckets_per_file = arguments.buckets_per_file,
                             .places = arguments.places,
                             .json_file = arguments.json_file};
  for (const std::string& name : arguments.policies) {
    const auto policy = icache::ParseInodePolicy(name);
    if (!policy) {
      return std::unexpected(fmt::format("--policies: \"{}\": {}", name, policy.error()));
    }
    options.policies.push_back(*policy);
  }
  for (const std::string& name : arguments.workloads) {
    const auto workload = ParseWorkload(name);
    if (!workload) return std::unexpected("--workloads: " + workload.error());
    if (*workload == Workload::kChmod) {
      return std::unexpected("--workloads: chmod leaves dirty inodes, which are not replayed");
    }
    options.workloads.push_back(*workload);
  }
  return options;
}

}  // namespace

std::variant<SharedLinesOptions, int> ParseSharedLinesOptions(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Counts the cache lines that virtual threads share in the inode cache: for each visit of a "
      "file, the writes and the reads that hit a line which another thread wrote last. Each thread "
      "has files of its own; they take turns, so that the counts are the same on any machine.",
      "shared_lines");
  Declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports through exceptions; none passes on from here.
    return app.exit(error) == 0 ? 0 : 2;
  }
  auto options = Settle(arguments);
  if (options) return std::move(*options);
  fmt::print(stderr, "shared_lines: {}\n", options.error());
  return 2;
}

}  // namespace nfswalk::bench
