// build_schedule: which process of a build a thread takes next.
//
// Thread safety: all calls at once from any number of threads; a process is one thread's from
// TakeProcess() to Park() or Finish().
#ifndef NFSWALK_BENCH_MAKE_REPLAY_BUILD_SCHEDULE_H_
#define NFSWALK_BENCH_MAKE_REPLAY_BUILD_SCHEDULE_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <vector>

#include "bench/make_replay/build_plan.h"

namespace nfswalk::bench {

class BuildSchedule {
 public:
  explicit BuildSchedule(const BuildPlan& plan);

  // Waits for a process that can go on; nullopt once all have ended, after Stop(), or if those
  // that are left wait for one another. The first one in the plan goes first.
  std::optional<size_t> TakeProcess();
  // Whether the call may be made now.
  bool MayRun(const PlannedCall& call) const { return FirstUnmet(call) == nullptr; }
  // The process waits until `call` may be made.
  void Park(size_t process, const PlannedCall& call);
  // So many calls of `process` are done; wakes those that wait for them.
  void Done(size_t process, size_t calls);
  void Finish();
  // For all threads.
  void Stop();

  // Preconditions: no thread is inside.
  bool all_finished() const { return finished_ == processes_.size(); }

 private:
  struct Waiter {
    uint32_t calls;
    size_t process;
  };
  struct Process {
    std::atomic<uint32_t> done = 0;
    std::atomic<bool> is_awaited = false;  // by any call of the plan
    std::vector<Waiter> waiters = {};      // under mutex_
  };

  const Wait* FirstUnmet(const PlannedCall& call) const;

  const BuildPlan& plan_;
  std::vector<Process> processes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Under mutex_.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready_;
  size_t running_ = 0;
  size_t finished_ = 0;
  bool stopped_ = false;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_BUILD_SCHEDULE_H_
