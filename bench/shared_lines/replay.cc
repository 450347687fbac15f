#include "bench/shared_lines/replay.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "bench/inode_scale/workload.h"
#include "bench/shared_lines/baton.h"
#include "bench/shared_lines/machine.h"
#include "nfsclient/icache/iget_family.h"
#include "rcu/defer.h"

namespace nfswalk::bench {

namespace {

// Some visits by each thread, between two grace periods.
struct Phase {
  Workload workload;
  uint64_t first = 0;  // of a thread's files
  uint64_t turns;
  uint64_t visits_a_turn = 1;
  bool counted = false;
};

// A full cache, and so many inodes that each thread looks at the limit in one of 32 allocations.
constexpr uint64_t kFstreeFiles = 4 * 16'384;
// And so many for each thread that their allocations between two looks are a small part.
constexpr uint64_t kFstreeFilesOfOne = 8'192;

// Beyond all that is ever cached here.
constexpr size_t kInodesToSpare = 1'000'000;

uint64_t FilesOf(const ReplayPlan& plan) {
  return plan.workload == Workload::kFstree
             ? std::max({plan.files_per_thread, kFstreeFiles / plan.threads, kFstreeFilesOfOne})
             : plan.files_per_thread;
}

std::vector<Phase> PhasesOf(const ReplayPlan& plan) {
  const Phase visit{.workload = plan.workload, .turns = plan.files_per_thread};
  Phase counted = visit;
  counted.counted = true;
  const Phase clear{.workload = Workload::kUnlink, .turns = plan.files_per_thread};
  switch (plan.workload) {
    case Workload::kCreate:
    case Workload::kWalk:
      return {visit, clear, visit, clear, counted};
    case Workload::kUnlink: {
      const Phase create{.workload = Workload::kCreate, .turns = plan.files_per_thread};
      return {create, visit, create, visit, create, counted};
    }
    case Workload::kFstree: {
      // Short turns also while it fills up: who came first would keep the memory for ever.
      constexpr uint64_t kTurn = 8;
      return {{.workload = visit.workload, .turns = FilesOf(plan) / kTurn, .visits_a_turn = kTurn},
              visit,
              {.workload = visit.workload,
               .first = plan.files_per_thread,
               .turns = plan.files_per_thread,
               .counted = true}};
    }
    default:
      return {visit, visit, counted};
  }
}

// Cache and files of one replay.
class Subject {
 public:
  static std::expected<std::unique_ptr<Subject>, std::string> Create(const ReplayPlan& plan) {
    const uint64_t files = FilesOf(plan) * plan.threads;
    const size_t buckets = std::bit_ceil(plan.buckets_per_file * files);
    std::unique_ptr<Subject> subject(new Subject(plan, buckets));
    auto cache = icache::IgetFamily::Create(
        {.policy = plan.policy,
         .inodes_max = plan.workload == Workload::kFstree ? files / 4 : kInodesToSpare,
         .initial_buckets = buckets},
        subject->source_);
    if (!cache) return std::unexpected(std::move(cache.error()));
    subject->cache_ = std::move(*cache);
    return subject;
  }
  // By age, as the index of a policy without a list may know nothing of the inodes.
  ~Subject() {
    if (cache_ == nullptr) return;
    while (cache_->Prune(cache_->unused()) > 0) {
    }
  }

  void Visit(const Phase& phase, size_t thread, uint64_t visit) {
    VisitFile(phase.workload, *cache_, source_, FirstFileOf(thread) + phase.first + visit);
  }

 private:
  Subject(const ReplayPlan& plan, size_t buckets)
      : source_({},
                plan.policy.hash == icache::HashPolicy::kIndex ||
                    plan.policy.list == icache::ListPolicy::kNone,
                buckets, /*chain_load=*/1) {}

  SyntheticFiles source_;
  std::unique_ptr<icache::IgetFamily> cache_;
};

void RunThread(Subject& subject, Baton& baton, const std::vector<Phase>& phases, size_t thread) {
  for (const Phase& phase : phases) {
    for (uint64_t turn = 0; turn < phase.turns; ++turn) {
      baton.AwaitTurn(thread);
      Recorder::Begin(static_cast<uint32_t>(thread));
      for (uint64_t i = 0; i < phase.visits_a_turn; ++i) {
        subject.Visit(phase, thread, turn * phase.visits_a_turn + i);
      }
      Recorder::End();
      baton.EndTurn(thread);
    }
  }
}

// While it is closed the thread that runs callbacks waits in it, so that none runs, nor is a grace
// period waited for, which readers would have to report to.
class CallbackGate {
 public:
  CallbackGate() {
    rcu::Defer(&head_, [](rcu::DeferHead* head) {
      auto* gate = reinterpret_cast<CallbackGate*>(head);
      gate->closed_.release();
      gate->open_.acquire();
      Recorder::Begin(Recorder::kCallbacks);
    });
    closed_.acquire();
  }
  // Opens it, and returns when all callbacks have run.
  ~CallbackGate() {
    open_.release();
    rcu::Barrier();
  }
  CallbackGate(const CallbackGate&) = delete;
  CallbackGate& operator=(const CallbackGate&) = delete;

 private:
  rcu::DeferHead head_;
  std::binary_semaphore closed_{0};
  std::binary_semaphore open_{0};
};

void Conduct(Baton& baton, const std::vector<Phase>& phases) {
  for (const Phase& phase : phases) {
    const CallbackGate no_grace_period_ends;
    Recorder::SetCounting(phase.counted);
    for (uint64_t turn = 0; turn < phase.turns; ++turn) baton.Round();
    Recorder::SetCounting(false);
  }
}

}  // namespace

std::expected<ReplayCount, std::string> Replay(const ReplayPlan& plan) {
  SetProcessors(static_cast<unsigned>(plan.threads));
  Recorder::Forget();
  auto subject = Subject::Create(plan);
  if (!subject) return std::unexpected(std::move(subject.error()));
  const std::vector<Phase> phases = PhasesOf(plan);
  Baton baton(plan.threads);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < plan.threads; ++i) {
    threads.emplace_back([&, i] { RunThread(**subject, baton, phases, i); });
  }
  Conduct(baton, phases);
  threads.clear();
  return ReplayCount{Recorder::counts(), plan.threads * plan.files_per_thread};
}

}  // namespace nfswalk::bench
