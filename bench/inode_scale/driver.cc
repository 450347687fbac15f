#include "bench/inode_scale/driver.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "rcu/defer.h"

namespace nfswalk::bench {

namespace {

// One policy's cache over its files.
class Subject {
 public:
  static std::expected<std::unique_ptr<Subject>, std::string> Create(
      const Plan& plan, const icache::InodePolicy& policy, uint64_t files, size_t inodes_max) {
    const size_t buckets = std::bit_ceil(std::max<uint64_t>(1024, files / plan.chain_load));
    std::unique_ptr<Subject> subject(new Subject(
        plan.work, policy.hash == icache::HashPolicy::kIndex, buckets, plan.chain_load));
    auto cache = icache::IgetFamily::Create({.policy = policy,
                                             .inodes_max = inodes_max,
                                             .chain_load = plan.chain_load,
                                             .initial_buckets = buckets},
                                            subject->source_);
    if (!cache) return std::unexpected(std::move(cache.error()));
    subject->cache_ = std::move(*cache);
    return subject;
  }

  Timing Run(Workload workload, size_t threads, uint64_t files_per_thread) {
    const uint64_t global_before = cache_->lock_acquisitions().global;
    std::atomic<uint64_t> checksum{0};
    const TeamTime time = RunTeam(threads, [&](size_t thread) {
      checksum += RunWorkload(workload, *cache_, source_, thread, files_per_thread);
    });
    return {.workload = workload,
            .policy = cache_->policy(),
            .threads = threads,
            .time = time,
            .inodes = threads * files_per_thread * VisitsOf(workload),
            .global_acquisitions = cache_->lock_acquisitions().global - global_before};
  }

  // Cold again: through the iterators, as dropping the caches does. What that defers is done before
  // the next workload begins, which would else be measured together with it.
  void Cool() {
    cache_->Sync();
    cache_->EvictUnused();
    rcu::Barrier();
  }

 private:
  Subject(SyntheticFiles::Work work, bool keep_index, size_t buckets, size_t chain_load)
      : source_(work, keep_index, buckets, chain_load) {}

  SyntheticFiles source_;
  std::unique_ptr<icache::IgetFamily> cache_;
};

// All workloads of one policy with one number of threads.
class Round {
 public:
  Round(const Plan& plan, const icache::InodePolicy& policy, size_t threads)
      : plan_(plan), policy_(policy), threads_(threads), files_(threads * plan.files_per_thread) {}

  std::expected<void, std::string> Run(const std::function<void(const Timing&)>& report,
                                       const std::atomic<bool>& stop) {
    auto subject = Subject::Create(plan_, policy_, files_, 2 * files_);
    if (!subject) return std::unexpected(std::move(subject.error()));
    for (const Workload workload : plan_.workloads) {
      if (stop) break;
      if (workload == Workload::kFstree) {
        if (auto ran = RunFstree(report); !ran) return ran;
        continue;
      }
      if (workload == Workload::kWarm) {
        (*subject)->Run(Workload::kWalk, threads_, plan_.files_per_thread);
      }
      report((*subject)->Run(workload, threads_, plan_.files_per_thread));
      (*subject)->Cool();
    }
    return {};
  }

 private:
  // In a cache of its own, which is full from the start.
  std::expected<void, std::string> RunFstree(const std::function<void(const Timing&)>& report) {
    auto subject = Subject::Create(plan_, policy_, files_, std::max<uint64_t>(files_ / 4, 1));
    if (!subject) return std::unexpected(std::move(subject.error()));
    (*subject)->Run(Workload::kFstree, threads_, plan_.files_per_thread);
    report((*subject)->Run(Workload::kFstree, threads_, plan_.files_per_thread));
    return {};
  }

  const Plan& plan_;
  const icache::InodePolicy policy_;
  const size_t threads_;
  const uint64_t files_;
};

}  // namespace

std::expected<void, std::string> RunPlan(const Plan& plan,
                                         const std::function<void(const Timing&)>& report,
                                         const std::atomic<bool>& stop) {
  for (size_t repetition = 0; repetition < plan.repetitions; ++repetition) {
    for (const size_t threads : plan.threads) {
      for (const icache::InodePolicy& policy : plan.policies) {
        if (stop) return {};
        if (auto ran = Round(plan, policy, threads).Run(report, stop); !ran) return ran;
      }
    }
  }
  return {};
}

}  // namespace nfswalk::bench
