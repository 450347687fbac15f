// inode_scale: the inode cache's locking policies side by side, or on a real export.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/inode_scale/export_turns.h"
#include "bench/inode_scale/hold_times.h"
#include "bench/inode_scale/plan.h"
#include "bench/measure/command_line.h"
#include "bench/measure/row.h"
#include "bench/measure/terminal.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kFilesMax = 10'000'000;
constexpr uint64_t kExportFiles = 300;  // each costs several round trips
constexpr uint64_t kFillMax_ns = 1'000'000;
// With a fill time the files are fewer, as each takes long enough to be timed.
constexpr uint64_t kFillFileShare = 10;

const std::vector<std::string> kAllBundles = {
    "H0+L0+U0", "H0+L1+U0", "H0+L0+U1", "H1+L0+U0", "H2+L0+U0", "H2+L1+U1", "H3+L1+U1",
    "H4+L1+U1", "H5+L1+U1", "H6+L1+U1", "H7+L1+U1", "H8+L1+U1", "H8+L3+U1"};

struct Options {
  std::vector<std::string> bundles = {"H0+L0+U0", "H1+L0+U0", "H2+L0+U0",
                                      "H2+L1+U1", "H3+L1+U1", "H8+L3+U1"};
  std::vector<std::string> workloads = {"create",   "walk",   "chmod", "unlink",
                                        "bulkstat", "fstree", "warm"};
  std::vector<uint64_t> fills_ns = {0, 1000, 5000};
  std::vector<uint64_t> hit_percents = {0, 10, 25, 50, 75, 90, 99, 100};
  std::vector<std::string> keys = {"spread"};
  Plan plan = {.policies = {},
               .workloads = {},
               .threads = {1, 2, 4, 8, 16},
               .files_per_thread = 100'000,
               .repetitions = 7,
               .chain_load = 1,
               .hit_percent = 0,
               .work = {}};
  std::optional<std::string> server;  // an nfs:// URL; empty: a server of our own
  std::string json_file;
};

// Empty if all is well.
std::string WhyBundleRefused(const std::string& name) {
  if (name == "all") return {};
  const auto policy = icache::ParseInodePolicy(name);
  if (!policy) return "\"" + name + "\": " + policy.error();
  if (policy->list == icache::ListPolicy::kNone && policy->hash != icache::HashPolicy::kIndex) {
    return "\"" + name + "\": without a list only an index can be iterated: use H8+L3";
  }
  return {};
}

void Shorten(Options& options) {
  options.plan.files_per_thread = 20'000;
  options.plan.repetitions = 3;
  options.plan.threads = {1, 2, 4};
  options.fills_ns = {0};
}

void Declare(CLI::App& app, Options& options) {
  app.add_flag_callback(
      "--quick", [&] { Shorten(options); },
      "20000 files, 3 repetitions, up to 4 threads and no fill time, where nothing else is said");
  app.add_option_function<std::string>(
         "--server",
         [&options](const std::string& url) {
           options.server = url;
           options.plan.files_per_thread = kExportFiles;
         },
         "Run on a real export through the client, 300 files a thread where nothing else is said: "
         "on an nfs:// URL, in a new directory there as uid 0, or without a value on an "
         "nfs-ganesha of our own")
      ->expected(0, 1);
  app.add_option("--policies", options.bundles,
                 "Bundles of a hash, a list and an LRU policy, H3+L1+U1; or all")
      ->delimiter(',')
      ->check(WhyBundleRefused)
      ->capture_default_str();
  app.add_option("--workloads", options.workloads, "What is done to each file")
      ->delimiter(',')
      ->check(CLI::IsMember(kWorkloadNames))
      ->capture_default_str();
  AddThreads(app, options.plan.threads);
  AddRepetitions(app, options.plan.repetitions);
  app.add_option("--files", options.plan.files_per_thread,
                 "Files of each thread, with a fill time a tenth of them")
      ->check(CLI::Range(uint64_t{1}, kFilesMax))
      ->capture_default_str();
  app.add_option("--fill-ns", options.fills_ns,
                 "Time a file system takes to read an inode, in ns; not with --server")
      ->delimiter(',')
      ->check(CLI::Range(uint64_t{0}, kFillMax_ns))
      ->capture_default_str();
  app.add_option("--hits", options.hit_percents,
                 "Lookups of the workload pressure (not with --server) that find their inode, in "
                 "percent; the others evict one")
      ->delimiter(',')
      ->check(CLI::Range(uint64_t{0}, uint64_t{100}))
      ->capture_default_str();
  app.add_option(
         "--keys", options.keys,
         "How its files meet in the hash table: spread; strided, chosen without the seed of "
         "the hash; one-lock of H5 and H6, or one-chain (with few files: each lookup walks "
         "it), with the seed")
      ->delimiter(',')
      ->check(CLI::IsMember(kKeysNames))
      ->capture_default_str();
  app.add_flag("--fill-under-one-lock", options.plan.work.under_one_lock,
               "As in a file system that is itself the bottleneck");
  app.add_option("--load", options.plan.chain_load, "Inodes a hash chain")
      ->check(CLI::Range(size_t{1}, size_t{64}))
      ->capture_default_str();
  AddJsonFile(app, options.json_file);
}

// One after the other: of each fill time one with the letters' workloads, and one for each rate of
// hits on each keys.
std::vector<Plan> PlansOf(const Options& options) {
  Plan plan = options.plan;
  const bool all = std::ranges::find(options.bundles, "all") != options.bundles.end();
  for (const std::string& name : all ? kAllBundles : options.bundles) {
    plan.policies.push_back(*icache::ParseInodePolicy(name));
  }
  std::vector<Workload> letters;
  for (const std::string& name : options.workloads) letters.push_back(WorkloadOf(name));
  const bool pressure = std::erase(letters, Workload::kPressure) > 0;
  std::vector<Plan> plans;
  for (const uint64_t fill_ns : options.fills_ns) {
    const uint64_t share = fill_ns > 0 ? kFillFileShare : 1;
    plan.files_per_thread = std::max<uint64_t>(1, options.plan.files_per_thread / share);
    plan.work.fill_ns = fill_ns;
    plans.push_back(plan);
    plans.back().workloads = letters;
    for (const std::string& keys : options.keys) {
      for (const uint64_t hit_percent : options.hit_percents) {
        if (!pressure) continue;
        Plan& each = plans.emplace_back(plan);
        each.workloads = {Workload::kPressure};
        each.hit_percent = hit_percent;
        each.work.keys = static_cast<Keys>(std::ranges::find(kKeysNames, keys) - &kKeysNames[0]);
      }
    }
  }
  return plans;
}

Row FactsOf(const Options& options, const ServerExport* server) {
  Row facts;
  if (server != nullptr) facts.Set("server", server->description());
  facts.Set("files_per_thread", options.plan.files_per_thread)
      .Set("repetitions", options.plan.repetitions)
      .Set("chain_load", options.plan.chain_load)
      .Set("fill_under_one_lock", options.plan.work.under_one_lock);
  return facts;
}

Outcome Run(const Options& options) {
  std::unique_ptr<ServerExport> server;
  if (options.server) {
    auto opened = ServerExport::Open(*options.server);
    if (!opened) return std::unexpected(std::move(opened.error()));
    server = std::move(*opened);
  }
  auto writer = RowWriter::Open("inode_scale", options.json_file, FactsOf(options, server.get()));
  if (!writer) return std::unexpected(std::move(writer.error()));
  for (const Plan& plan : PlansOf(options)) {
    const Outcome ran = RunPlan(
        plan, server != nullptr ? ExportTurns(plan, *server) : SyntheticTurns(plan), *writer);
    if (!ran) return ran;
  }
  if (server == nullptr && !Interrupted()) {
    const Plan& plan = options.plan;
    const Outcome held = MeasureHoldTimes(plan.files_per_thread, plan.chain_load, *writer);
    if (!held) return held;
  }
  return writer->Close(Row().Set("interrupted", Interrupted()));
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "The letters' workloads on the inode cache: policies side by side, interleaved. Each thread "
      "has directories of its own, which are made up as they are read, so that nothing but the "
      "cache is measured.",
      "inode_scale");
  Declare(app, options);
  return RunBenchmark(app, argc, argv, [&] {
    if (!options.server) return Run(options);
    // Made-up files alone have these.
    options.fills_ns = {0};
    std::erase(options.workloads, "pressure");
    return Run(options);
  });
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
