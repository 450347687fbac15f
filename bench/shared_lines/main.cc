// shared_lines: counts the cache lines that virtual threads share in the inode cache.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/measure/command_line.h"
#include "bench/measure/row.h"
#include "bench/measure/terminal.h"
#include "bench/shared_lines/replay.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

struct Options {
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

// Empty if all is well.
std::string WhyPolicyRefused(const std::string& name) {
  const auto policy = icache::ParseInodePolicy(name);
  return policy ? "" : "\"" + name + "\": " + policy.error();
}

void Declare(CLI::App& app, Options& options) {
  app.add_flag_callback(
      "--quick",
      [&] {
        options.threads = {1, 2, 8};
      },
      "1, 2 and 8 threads, where nothing else is said");
  app.add_option("--policies", options.policies,
                 "Bundles of a hash, a list and an LRU policy; of H7 only what the cache does, not "
                 "what liburcu's table does inside")
      ->delimiter(',')
      ->check(WhyPolicyRefused)
      ->capture_default_str();
  app.add_option("--workloads", options.workloads,
                 "What is done to each file; fstree is slow, chmod leaves dirty inodes, which are "
                 "not replayed")
      ->delimiter(',')
      ->check(CLI::IsMember({"create", "walk", "unlink", "bulkstat", "fstree", "warm"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "Numbers of virtual threads, and of the processors they find, one row each")
      ->delimiter(',')
      ->check(CLI::Range(size_t{1}, size_t{Recorder::kThreadsMax}))
      ->capture_default_str();
  app.add_option("--files", options.files, "Files of each thread")
      ->check(CLI::Range(uint64_t{8}, uint64_t{65'536}))
      ->capture_default_str();
  app.add_option("--buckets-per-file", options.buckets_per_file,
                 "Size of the hash table, over the files of all threads")
      ->check(CLI::Range(uint64_t{1}, uint64_t{4096}))
      ->capture_default_str();
  app.add_option("--places", options.places,
                 "Print to stderr so many places in the code whose accesses were shared; addr2line "
                 "names them")
      ->capture_default_str();
  AddJsonFile(app, options.json_file);
}

void PrintPlaces(const ReplayPlan& plan, uint64_t visits, size_t most) {
  const std::vector<Recorder::Place> places = Recorder::Places();
  if (most == 0 || places.empty()) return;
  fmt::print(stderr, "\n{} {} with {} threads: addr2line -ifCe <this program>\n",
             WorkloadName(plan.workload), icache::PolicyLabel(plan.policy), plan.threads);
  for (size_t i = 0; i < std::min(most, places.size()); ++i) {
    const auto& [code, accesses] = places[i];
    fmt::print(stderr, "  {:#x}: {} writes, {} reads of {} visits\n", code, accesses.writes,
               accesses.reads, visits);
  }
}

Row RowOf(const ReplayPlan& plan, const ReplayCount& count) {
  const auto per_visit = [&](uint64_t number) {
    return static_cast<double>(number) / static_cast<double>(count.visits);
  };
  const auto& [among_threads, after_callbacks, callbacks] = count.lines;
  Row row;
  row.Set("workload", WorkloadName(plan.workload))
      .Set("policy", icache::PolicyLabel(plan.policy))
      .Set("threads", plan.threads)
      .Set("visits", count.visits)
      .Set("shared_writes", per_visit(among_threads.writes))
      .Set("shared_reads", per_visit(among_threads.reads))
      .Set("writes_after_callbacks", per_visit(after_callbacks.writes))
      .Set("reads_after_callbacks", per_visit(after_callbacks.reads))
      .Set("callbacks", per_visit(callbacks));
  return row;
}

Outcome ReplayAll(const Options& options, RowWriter& writer) {
  for (const std::string& workload : options.workloads) {
    for (const std::string& policy : options.policies) {
      for (const size_t threads : options.threads) {
        if (Interrupted()) return {};
        ShowProgress(fmt::format("{}, {}: {} threads", workload, policy, threads));
        const ReplayPlan plan{.policy = *icache::ParseInodePolicy(policy),
                              .workload = WorkloadOf(workload),
                              .threads = threads,
                              .files_per_thread = options.files,
                              .buckets_per_file = options.buckets_per_file};
        const auto count = Replay(plan);
        if (!count) return std::unexpected(count.error());
        writer.Write(RowOf(plan, *count));
        PrintPlaces(plan, count->visits, options.places);
      }
    }
  }
  return {};
}

Outcome Run(const Options& options) {
  Row facts;
  facts.Set("files_per_thread", options.files).Set("buckets_per_file", options.buckets_per_file);
  auto writer = RowWriter::Open("shared_lines", options.json_file, facts);
  if (!writer) return std::unexpected(std::move(writer.error()));
  if (auto replayed = ReplayAll(options, *writer); !replayed) return replayed;
  return writer->Close(Row().Set("interrupted", Interrupted()));
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Counts the cache lines that virtual threads share in the inode cache: for each visit of a "
      "file, the writes and the reads that hit a line which another thread wrote last. Each thread "
      "has files of its own; they take turns, so that the counts are the same on any machine.",
      "shared_lines");
  Declare(app, options);
  return RunBenchmark(app, argc, argv, [&] { return Run(options); });
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
