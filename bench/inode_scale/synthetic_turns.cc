#include <algorithm>
#include <atomic>
#include <bit>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include "bench/inode_scale/plan.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "nfsclient/icache/iget_family.h"
#include "rcu/defer.h"

namespace nfswalk::bench {
namespace {

// One policy's cache over the files of some threads.
class CachedFiles {
 public:
  static std::expected<std::unique_ptr<CachedFiles>, std::string> Create(
      const Plan& plan, const icache::InodePolicy& policy, size_t threads, size_t inodes_max) {
    const uint64_t files = threads * plan.files_per_thread;
    // As many that the keys reach.
    const size_t share = plan.work.keys == Keys::kOneLock ? icache::kArrayLocks : 1;
    const size_t buckets = share * std::bit_ceil(std::max<uint64_t>(1024, files / plan.chain_load));
    std::unique_ptr<CachedFiles> created(new CachedFiles(plan, policy, threads, buckets));
    auto cache = icache::IgetFamily::Create({.policy = policy,
                                             .inodes_max = inodes_max,
                                             .chain_load = plan.chain_load,
                                             .initial_buckets = buckets},
                                            created->source_);
    if (!cache) return std::unexpected(std::move(cache.error()));
    created->cache_ = std::move(*cache);
    return created;
  }

  std::expected<WorkloadTurn, std::string> Run(Workload workload) {
    const icache::LockAcquisitions before = cache_->lock_acquisitions();
    std::atomic<uint64_t> checksum{0}, hits{0};
    const auto time = RunTeam(threads_, Placement::kPinned, [&](size_t thread) -> Outcome {
      const Visits visits =
          RunWorkload(workload, *cache_, source_, thread, files_per_thread_, hit_percent_);
      checksum += visits.checksum;
      hits += visits.hits;
      return {};
    });
    if (!time) return std::unexpected(time.error());
    const icache::LockAcquisitions after = cache_->lock_acquisitions();
    return WorkloadTurn{.workload = workload,
                        .turn = {.ops = threads_ * files_per_thread_ * VisitsOf(workload),
                                 .seconds = time->seconds,
                                 .share = time->share,
                                 .hits = hits},
                        .global_acquisitions = after.global - before.global,
                        .hash_acquisitions = after.hottest_of_hash - before.hottest_of_hash};
  }

  // Evicts everything, through the iterators, as dropping the caches does. Waits for what that
  // defers, which the next workload would else be measured with.
  void Cool() {
    cache_->Sync();
    cache_->EvictUnused();
    rcu::Barrier();
  }

 private:
  CachedFiles(const Plan& plan, const icache::InodePolicy& policy, size_t threads, size_t buckets)
      : threads_(threads),
        files_per_thread_(plan.files_per_thread),
        hit_percent_(plan.hit_percent),
        source_(plan.work, policy.hash == icache::HashPolicy::kIndex, buckets, plan.chain_load) {}

  const size_t threads_;
  const uint64_t files_per_thread_;
  const uint64_t hit_percent_;
  SyntheticFiles source_;
  std::unique_ptr<icache::IgetFamily> cache_;
};

// Runs `before` untimed, then `workload`.
Outcome TakeTurn(CachedFiles& files, const Workload* before, Workload workload,
                 const ReportTurn& report) {
  if (before != nullptr) {
    if (auto ran = files.Run(*before); !ran) return std::unexpected(std::move(ran.error()));
  }
  auto taken = files.Run(workload);
  if (!taken) return std::unexpected(std::move(taken.error()));
  report(*taken);
  return {};
}

Outcome TakeAll(const Plan& plan, const icache::InodePolicy& policy, size_t threads,
                std::span<const Workload> workloads, const ReportTurn& report) {
  const uint64_t files = threads * plan.files_per_thread;
  auto roomy = CachedFiles::Create(plan, policy, threads, 2 * files);
  if (!roomy) return std::unexpected(std::move(roomy.error()));
  for (const Workload workload : workloads) {
    if (Interrupted()) break;
    Outcome taken;
    constexpr Workload kWalk = Workload::kWalk;
    if (workload == Workload::kFstree || workload == Workload::kPressure) {
      // In a cache of its own, which is full from the start.
      const uint64_t share = workload == Workload::kFstree ? 4 : 1;
      auto full = CachedFiles::Create(plan, policy, threads, std::max<uint64_t>(files / share, 1));
      if (!full) return std::unexpected(std::move(full.error()));
      taken = TakeTurn(**full, &kWalk, workload, report);
    } else {
      taken = TakeTurn(**roomy, workload == Workload::kWarm ? &kWalk : nullptr, workload, report);
      (*roomy)->Cool();
    }
    if (!taken) return taken;
  }
  return {};
}

}  // namespace

TakeTurns SyntheticTurns(const Plan& plan) {
  return [&plan](const icache::InodePolicy& policy, size_t threads,
                 std::span<const Workload> workloads, const ReportTurn& report) {
    return TakeAll(plan, policy, threads, workloads, report);
  };
}

}  // namespace nfswalk::bench
