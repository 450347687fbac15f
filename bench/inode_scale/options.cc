#include "bench/inode_scale/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kThreadsMax = 256;
constexpr size_t kQuickThreadsMax = 4;
constexpr uint64_t kFilesMax = 10'000'000;
constexpr uint64_t kFiles = 100'000;  // as the superblock iteration letter has
constexpr uint64_t kQuickFiles = 20'000;
constexpr uint64_t kExportFiles = 300;  // each costs several round trips
constexpr size_t kRepetitions = 7;
constexpr size_t kQuickRepetitions = 3;
constexpr size_t kRepetitionsMax = 1000;
constexpr uint64_t kFillMax_ns = 1'000'000;
// With a fill time the files are fewer, as each takes long enough to be timed.
constexpr uint64_t kFillFileShare = 10;

const std::vector<std::string> kBundles = {"H0+L0+U0", "H1+L0+U0", "H2+L0+U0",
                                           "H2+L1+U1", "H3+L1+U1", "H8+L3+U1"};
const std::vector<std::string> kAllBundles = {
    "H0+L0+U0", "H0+L1+U0", "H0+L0+U1", "H1+L0+U0", "H2+L0+U0", "H2+L1+U1", "H3+L1+U1",
    "H4+L1+U1", "H5+L1+U1", "H6+L1+U1", "H7+L1+U1", "H8+L1+U1", "H8+L3+U1"};

// The command line as it was given; what is empty has a default that depends on the rest.
struct Arguments {
  std::vector<std::string> policies = kBundles;
  std::vector<std::string> workloads;
  std::vector<size_t> threads = {1, 2, 4, 8, 16};
  std::optional<uint64_t> files;
  std::optional<size_t> repetitions;
  std::vector<uint64_t> fills_ns = {0, 1000, 5000};
  bool fill_under_one_lock = false;
  size_t load = 1;
  bool quick = false;
  bool on_export = false;
  std::string server;
  std::string json_file;
  std::string letters_file;
};

void Declare(CLI::App& app, Arguments& arguments) {
  app.add_option("--policies", arguments.policies,
                 "Bundles of a hash, a list and an LRU policy, H3+L1+U1; or all")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--workloads", arguments.workloads,
                 "create, walk, chmod, unlink, bulkstat, fstree, warm [all of them]")
      ->delimiter(',');
  app.add_option("--threads", arguments.threads, "Numbers of threads, one row each")
      ->delimiter(',')
      ->check(CLI::Range(size_t{1}, kThreadsMax))
      ->capture_default_str();
  app.add_option("--files", arguments.files,
                 "Files of each thread, with a fill time a tenth of them [100000; --quick 20000; "
                 "--server 300]")
      ->check(CLI::Range(uint64_t{1}, kFilesMax));
  app.add_option("--repetitions", arguments.repetitions,
                 "Of which the median counts [7; --quick 3]")
      ->check(CLI::Range(size_t{1}, kRepetitionsMax));
  app.add_option("--fill-ns", arguments.fills_ns,
                 "Time a file system takes to read an inode, in ns; --quick runs the first only")
      ->delimiter(',')
      ->check(CLI::Range(uint64_t{0}, kFillMax_ns))
      ->capture_default_str();
  app.add_flag("--fill-under-one-lock", arguments.fill_under_one_lock,
               "As in a file system that is itself the bottleneck");
  app.add_option("--load", arguments.load, "Inodes a hash chain")
      ->check(CLI::Range(size_t{1}, size_t{64}))
      ->capture_default_str();
  app.add_flag("--quick", arguments.quick, "Less of everything, and at most 4 threads");
  app.add_option_function<std::string>(
         "--server",
         [&arguments](const std::string& url) {
           arguments.on_export = true;
           arguments.server = url;
         },
         "Run on a real export through the client: on an nfs:// URL, in a new directory there as "
         "uid 0, or without a value on an nfs-ganesha of our own")
      ->expected(0, 1);
  app.add_option("--json", arguments.json_file, "Write the rows to this file too");
  app.add_option("--letters-json", arguments.letters_file,
                 "Write the letters' figures to this file, to hold the rows against");
}

std::expected<std::vector<icache::InodePolicy>, std::string> ReadPolicies(
    const std::vector<std::string>& names) {
  std::vector<icache::InodePolicy> policies;
  for (const std::string& name : names == std::vector<std::string>{"all"} ? kAllBundles : names) {
    const auto policy = icache::ParseInodePolicy(name);
    if (!policy) {
      return std::unexpected(fmt::format("--policies: \"{}\": {}", name, policy.error()));
    }
    if (policy->list == icache::ListPolicy::kNone && policy->hash != icache::HashPolicy::kIndex) {
      return std::unexpected(
          fmt::format("--policies: \"{}\": without a list the inodes can only be iterated in an "
                      "index: use H8+L3",
                      name));
    }
    policies.push_back(*policy);
  }
  return policies;
}

std::expected<std::vector<Workload>, std::string> ReadWorkloads(
    const std::vector<std::string>& names) {
  std::vector<Workload> workloads(std::begin(kAllWorkloads), std::end(kAllWorkloads));
  if (names.empty()) return workloads;
  workloads.clear();
  for (const std::string& name : names) {
    const auto workload = ParseWorkload(name);
    if (!workload) return std::unexpected("--workloads: " + workload.error());
    workloads.push_back(*workload);
  }
  return workloads;
}

std::expected<ScaleOptions, std::string> Settle(const Arguments& arguments) {
  Plan plan;
  auto policies = ReadPolicies(arguments.policies);
  if (!policies) return std::unexpected(std::move(policies.error()));
  plan.policies = std::move(*policies);
  auto workloads = ReadWorkloads(arguments.workloads);
  if (!workloads) return std::unexpected(std::move(workloads.error()));
  plan.workloads = std::move(*workloads);
  plan.threads = arguments.threads;
  plan.chain_load = arguments.load;
  plan.work.under_one_lock = arguments.fill_under_one_lock;
  const bool quick = arguments.quick;
  plan.repetitions = arguments.repetitions.value_or(quick ? kQuickRepetitions : kRepetitions);
  const uint64_t files = arguments.files.value_or(arguments.on_export ? kExportFiles
                                                  : quick             ? kQuickFiles
                                                                      : kFiles);
  if (quick) std::erase_if(plan.threads, [](size_t threads) { return threads > kQuickThreadsMax; });

  ScaleOptions options;
  if (arguments.on_export) options.server = arguments.server;
  options.json_file = arguments.json_file;
  options.letters_file = arguments.letters_file;
  for (const uint64_t fill_ns : arguments.fills_ns) {
    plan.work.fill_ns = arguments.on_export ? 0 : fill_ns;
    plan.files_per_thread =
        plan.work.fill_ns == 0 ? files : std::max<uint64_t>(1, files / kFillFileShare);
    options.plans.push_back(plan);
    if (quick || arguments.on_export) break;
  }
  return options;
}

}  // namespace

std::variant<ScaleOptions, int> ParseScaleOptions(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "The letters' workloads on the inode cache: policies side by side, interleaved. Each thread "
      "has directories of its own, which are made up as they are read, so that nothing but the "
      "cache is measured.",
      "inode_scale");
  Declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports through exceptions; none passes on from here.
    return app.exit(error) == 0 ? 0 : 2;
  }
  auto options = Settle(arguments);
  if (options) return std::move(*options);
  fmt::print(stderr, "inode_scale: {}\n", options.error());
  return 2;
}

}  // namespace nfswalk::bench
