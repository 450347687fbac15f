#include "bench/inode_scale/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kThreadsMax = 256;
constexpr uint64_t kFilesMax = 10'000'000;
constexpr uint64_t kFillMax_ns = 1'000'000;
// With a fill time the files are fewer, as each takes long enough to be timed.
constexpr uint64_t kFillFileShare = 10;

const std::vector<std::string> kBundles = {"H0+L0+U0", "H1+L0+U0", "H2+L0+U0",
                                           "H2+L1+U1", "H3+L1+U1", "H8+L3+U1"};
const std::vector<std::string> kAllBundles = {
    "H0+L0+U0", "H0+L1+U0", "H0+L0+U1", "H1+L0+U0", "H2+L0+U0", "H2+L1+U1", "H3+L1+U1",
    "H4+L1+U1", "H5+L1+U1", "H6+L1+U1", "H7+L1+U1", "H8+L1+U1", "H8+L3+U1"};

// Empty, or what is wrong with the names.
std::string ReadNames(const std::vector<std::string>& policies,
                      const std::vector<std::string>& workloads, Plan& plan) {
  for (const std::string& name :
       policies == std::vector<std::string>{"all"} ? kAllBundles : policies) {
    const auto policy = vfs::ParseInodePolicy(name);
    if (!policy) return fmt::format("--policies: \"{}\": {}", name, policy.error());
    if (policy->list == vfs::ListPolicy::kNone && policy->hash != vfs::HashPolicy::kIndex) {
      return fmt::format(
          "--policies: \"{}\": without a list the inodes can only be iterated in an "
          "index: use H8+L3",
          name);
    }
    plan.policies.push_back(*policy);
  }
  for (const std::string& name : workloads) {
    const auto workload = ParseWorkload(name);
    if (!workload) return "--workloads: " + workload.error();
    plan.workloads.push_back(*workload);
  }
  return {};
}

}  // namespace

std::variant<ScaleOptions, int> ParseScaleOptions(int argc, char** argv) {
  ScaleOptions options;
  Plan plan;
  std::vector<std::string> policies = kBundles;
  std::vector<std::string> workloads;
  for (const Workload workload : kAllWorkloads) workloads.emplace_back(WorkloadName(workload));
  std::vector<uint64_t> fills_ns = {0, 1000, 5000};
  plan.threads = {1, 2, 4, 8, 16};
  bool quick = false;
  CLI::App app(
      "The letters' workloads on the inode cache: policies side by side, interleaved, each thread "
      "in "
      "directories of its own that are made up as they are read, so that nothing but the cache is "
      "measured.",
      "inode_scale");
  app.add_option("--policies", policies,
                 "Bundles of a hash, a list and an LRU policy, H3+L1+U1; or all")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--workloads", workloads, "create, walk, chmod, unlink, bulkstat, fstree, warm")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--threads", plan.threads, "Numbers of threads, one row each")
      ->delimiter(',')
      ->check(CLI::Range(size_t{1}, kThreadsMax))
      ->capture_default_str();
  auto* const files = app.add_option("--files", plan.files_per_thread,
                                     "Files of each thread; with a fill time, a "
                                     "tenth of them")
                          ->check(CLI::Range(uint64_t{1}, kFilesMax))
                          ->capture_default_str();
  auto* const repetitions =
      app.add_option("--repetitions", plan.repetitions, "Of which the median counts")
          ->check(CLI::Range(size_t{1}, size_t{1000}))
          ->capture_default_str();
  app.add_option("--fill-ns", fills_ns, "Time a file system takes to read an inode, in ns")
      ->delimiter(',')
      ->check(CLI::Range(uint64_t{0}, kFillMax_ns))
      ->capture_default_str();
  app.add_flag("--fill-under-one-lock", plan.work.under_one_lock,
               "As in a file system that is itself the bottleneck");
  app.add_option("--load", plan.chain_load, "Inodes a hash chain")
      ->check(CLI::Range(size_t{1}, size_t{64}))
      ->capture_default_str();
  app.add_flag("--quick", quick, "Less of everything: under a minute");
  app.add_option("--json", options.json_file, "Write the rows to this file too");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports through exceptions; none passes on from here.
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (quick) {
    if (files->empty()) plan.files_per_thread = 20'000;
    if (repetitions->empty()) plan.repetitions = 3;
    std::erase_if(plan.threads, [](size_t threads) { return threads > 4; });
    fills_ns.resize(std::min<size_t>(fills_ns.size(), 1));
  }
  if (const std::string error = ReadNames(policies, workloads, plan); !error.empty()) {
    fmt::print(stderr, "inode_scale: {}\n", error);
    return 2;
  }
  for (const uint64_t fill_ns : fills_ns) {
    Plan& filled = options.plans.emplace_back(plan);
    filled.work.fill_ns = fill_ns;
    if (fill_ns > 0) {
      filled.files_per_thread = std::max<uint64_t>(1, plan.files_per_thread / kFillFileShare);
    }
  }
  return options;
}

}  // namespace nfswalk::bench
