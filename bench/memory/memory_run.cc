#include "bench/memory/memory_run.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "bench/make_replay/nfswalk_subject.h"
#include "bench/memory/filled_client.h"
#include "bench/memory/growth.h"
#include "bench/memory/synthetic_tree.h"
#include "bench/warm_stat/warm_report.h"
#include "bench/warm_stat/warm_tree.h"
#include "bench/warm_stat/warm_turn.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint32_t kOrderSeed = 6;
constexpr size_t kGrowthRepetitionsMax = 3;  // they hardly differ

// The calls of one hot set: the first files of every tree, in an order that no prefetcher guesses.
class HotSet {
 public:
  HotSet(const SyntheticTree& tree, uint64_t files) : files_(files), calls_(Paths(tree), 0) {}

  uint64_t files() const { return files_; }
  const std::vector<ReplayCall>& calls() const { return calls_.calls(); }

 private:
  std::vector<std::string> Paths(const SyntheticTree& tree) const {
    std::vector<std::string> paths;
    for (uint64_t file = 0; file < files_; ++file) paths.push_back(tree.PathOfFile(file));
    std::mt19937 order(kOrderSeed);
    std::ranges::shuffle(paths, order);
    return paths;
  }

  const uint64_t files_;
  const CourseCalls calls_;
};

// A mount with `files` cached, and the turns that were taken with each hot set it holds.
struct Cache {
  uint64_t files = 0;
  std::unique_ptr<Subject> subject;
  std::vector<std::vector<WarmTurn>> turns;  // for each hot set
};

class CostRun {
 public:
  CostRun(const MemoryOptions& options, const std::function<void(std::string_view)>& progress,
          const std::atomic<bool>& stop)
      : options_(options), progress_(progress), stop_(stop) {}

  // Empty, or the error.
  std::string Run(std::vector<CostRow>& rows) {
    std::string error = MakeCaches();
    for (size_t repetition = 0; repetition < options_.repetitions && error.empty(); ++repetition) {
      error = TakeTurns(repetition);
    }
    if (error.empty()) AddRows(rows);
    return error;
  }

 private:
  std::string MakeCaches() {
    for (const uint64_t files : CacheSizes(options_)) {
      if (stop_.load()) return {};
      progress_(fmt::format("filling a cache of {} files", files));
      const SyntheticTree tree(files, true);
      auto client = MountSynthetic(tree);
      if (!client) return client.error();
      if (std::string error = Fill(**client, tree, stop_); !error.empty()) return error;
      caches_.push_back(
          {.files = files,
           .subject = MakeNfswalkSubject(std::move(*client), WalkModeName(WalkMode::kRcuSearch),
                                         {kMemoryAsker}),
           .turns = std::vector<std::vector<WarmTurn>>(options_.hot_files.size())});
    }
    for (const uint64_t hot : options_.hot_files) {
      if (hot <= options_.files_max) {
        hot_sets_.push_back(std::make_unique<HotSet>(SyntheticTree(options_.files_max, true), hot));
      }
    }
    return {};
  }

  // One turn of each hot set in each cache.
  std::string TakeTurns(size_t repetition) {
    for (size_t set = 0; set < hot_sets_.size(); ++set) {
      for (Cache& cache : caches_) {
        if (stop_.load()) return {};
        if (cache.files < hot_sets_[set]->files()) continue;
        progress_(fmt::format("{} of {}: {} hot files among {}", repetition + 1,
                              options_.repetitions, hot_sets_[set]->files(), cache.files));
        if (std::string error = TakeTurnOf(cache, set); !error.empty()) return error;
      }
    }
    return {};
  }

  std::string TakeTurnOf(Cache& cache, size_t set) {
    const std::vector<ReplayCall>& calls = hot_sets_[set]->calls();
    const uint64_t rpcs_before = cache.subject->stats().rpcs;
    auto turn = TakeTurn(*cache.subject, calls, 0, 1, static_cast<double>(options_.turn_ms) / 1000);
    if (!turn) return std::move(turn.error());
    if (cache.subject->stats().rpcs != rpcs_before) {
      return fmt::format("a cache of {} files had to ask its server", cache.files);
    }
    cache.turns[set].push_back(*turn);
    return {};
  }

  void AddRows(std::vector<CostRow>& rows) const {
    for (size_t set = 0; set < hot_sets_.size(); ++set) {
      for (const Cache& cache : caches_) {
        if (cache.turns[set].empty()) continue;
        const WarmRow row = RowOf({}, cache.turns[set], 1);
        rows.push_back({.entries = cache.files,
                        .hot = hot_sets_[set]->files(),
                        .ns_per_op = row.ns_per_op,
                        .ns_min = row.ns_min,
                        .ns_max = row.ns_max,
                        .cpu_share = row.cpu_share});
      }
    }
  }

  const MemoryOptions& options_;
  const std::function<void(std::string_view)>& progress_;
  const std::atomic<bool>& stop_;
  std::vector<std::unique_ptr<HotSet>> hot_sets_;
  std::vector<Cache> caches_;
};

}  // namespace

std::expected<MemoryRows, std::string> RunMemory(
    const MemoryOptions& options, const std::function<void(std::string_view)>& progress,
    const std::atomic<bool>& stop) {
  MemoryRows rows;
  const size_t repetitions = std::min(options.repetitions, kGrowthRepetitionsMax);
  for (const bool long_names : {false, true}) {
    for (const uint64_t files : GrowthSizes(options)) {
      std::vector<uint64_t> growths_bytes;
      for (size_t repetition = 0; repetition < repetitions; ++repetition) {
        progress(fmt::format("{} of {}: a process that caches {} files", repetition + 1,
                             repetitions, files));
        const auto growth = ResidentGrowth(SyntheticTree(files, long_names), stop);
        if (stop.load()) return rows;
        if (!growth) return std::unexpected(growth.error());
        growths_bytes.push_back(*growth);
      }
      rows.bytes.push_back(BytesRowOf(long_names, files, std::move(growths_bytes)));
    }
  }
  std::string error = CostRun(options, progress, stop).Run(rows.costs);
  if (!error.empty()) return std::unexpected(std::move(error));
  CompareWith1e5(rows.costs);
  return rows;
}

}  // namespace nfswalk::bench
