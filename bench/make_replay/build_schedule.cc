#include "bench/make_replay/build_schedule.h"

#include <algorithm>

namespace nfswalk::bench {

BuildSchedule::BuildSchedule(const BuildPlan& plan)
    : plan_(plan), processes_(plan.processes.size()) {
  for (size_t i = 0; i < processes_.size(); ++i) ready_.push(i);
  for (const Wait& wait : plan.waits) processes_[wait.process].is_awaited = true;
}

std::optional<size_t> BuildSchedule::TakeProcess() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !ready_.empty() || running_ == 0 || stopped_; });
  if (stopped_ || ready_.empty()) return std::nullopt;
  const size_t process = ready_.top();
  ready_.pop();
  ++running_;
  return process;
}

void BuildSchedule::Park(size_t process, const PlannedCall& call) {
  const std::lock_guard guard(mutex_);
  --running_;
  // Checks again under the mutex: the awaited calls may be done by now. If they are not, the Done()
  // that completes them finds the waiter.
  if (const Wait* const unmet = FirstUnmet(call); unmet != nullptr) {
    processes_[unmet->process].waiters.push_back({unmet->calls, process});
    if (running_ == 0 && ready_.empty()) changed_.notify_all();
  } else {
    ready_.push(process);
    changed_.notify_one();
  }
}

void BuildSchedule::Done(size_t process, size_t calls) {
  Process& mine = processes_[process];
  mine.done = static_cast<uint32_t>(calls);
  if (!mine.is_awaited) return;
  const std::lock_guard guard(mutex_);
  std::erase_if(mine.waiters, [&](const Waiter& waiter) {
    if (waiter.calls > calls) return false;
    ready_.push(waiter.process);
    changed_.notify_one();
    return true;
  });
}

void BuildSchedule::Finish() {
  const std::lock_guard guard(mutex_);
  ++finished_;
  --running_;
  if (running_ == 0 && ready_.empty()) changed_.notify_all();
}

void BuildSchedule::Stop() {
  const std::lock_guard guard(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

const Wait* BuildSchedule::FirstUnmet(const PlannedCall& call) const {
  const auto waits = plan_.WaitsOf(call);
  const auto unmet = std::ranges::find_if(
      waits, [&](const Wait& wait) { return processes_[wait.process].done < wait.calls; });
  return unmet == waits.end() ? nullptr : &*unmet;
}

}  // namespace nfswalk::bench
