#include "bench/shared_lines/replay.h"

#include <semaphore.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "bench/inode_scale/workload.h"
#include "nfsclient/icache/iget_family.h"
#include "rcu/defer.h"

namespace nfswalk::bench {

namespace {

// Lets threads run strictly in turn, in the order of their numbers. Thread safety: all functions
// but the constructor and the destructor.
class Baton {
 public:
  explicit Baton(size_t threads) : threads_(threads), turns_(new sem_t[threads + 1]) {
    for (size_t i = 0; i <= threads_; ++i) sem_init(&turns_[i], /*pshared=*/0, 0);
  }
  ~Baton() {
    for (size_t i = 0; i <= threads_; ++i) sem_destroy(&turns_[i]);
  }
  Baton(const Baton&) = delete;
  Baton& operator=(const Baton&) = delete;

  // Gives each thread one turn, one after the other. The conductor's.
  void Round() {
    sem_post(&turns_[0]);
    AwaitTurn(threads_);
  }
  // The next two are for thread `thread`, in pairs.
  void AwaitTurn(size_t thread) {
    while (sem_wait(&turns_[thread]) != 0 && errno == EINTR) {
    }
  }
  void EndTurn(size_t thread) { sem_post(&turns_[thread + 1]); }

 private:
  const size_t threads_;
  const std::unique_ptr<sem_t[]> turns_;  // one a thread, and at the end the conductor's
};

// Some visits by each thread, between two grace periods.
struct Phase {
  Workload workload;
  uint64_t first = 0;  // of a thread's files
  uint64_t turns;
  uint64_t visits_a_turn = 1;
  bool counted = false;
};

// Enough inodes in a full cache that each thread checks the limit in one of 32 allocations.
constexpr uint64_t kFstreeFiles = 4 * 16'384;
// Enough for each thread that its allocations between two checks are a small part.
constexpr uint64_t kFstreeFilesOfOne = 8'192;

// More than is ever cached here.
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
      // Short turns while the cache fills, too: the first thread would keep all memory.
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
  // Evicts by age: without a list, an index need not know the inodes.
  ~Subject() {
    if (cache_ == nullptr) return;
    while (cache_->Prune(cache_->unused()) > 0) {
    }
  }

  void Visit(const Phase& phase, size_t thread, uint64_t visit) {
    Visits visits;
    VisitFile(phase.workload, *cache_, source_, FirstFileOf(thread) + phase.first + visit, visits);
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

// Keeps the thread that runs callbacks waiting while it exists, so that no callback runs and no
// grace period is waited for, which readers would have to report to.
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
  // Returns once all callbacks have run.
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
  Recorder::SetProcessors(static_cast<unsigned>(plan.threads));
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
