#include "rcu/defer.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include "rcu/futex.h"
#include "rcu/lock_order.h"

namespace nfswalk::rcu {
namespace {

constexpr std::chrono::milliseconds kGatherMax{10};

constinit std::atomic<bool> started{false};
// What waits for a grace period, deferred last first.
constinit std::atomic<DeferHead*> deferred{nullptr};
// 1 while the thread of callbacks sleeps, or is about to, as it has found nothing deferred.
constinit std::atomic<uint32_t> idle{0};
// Barrier()s under way.
constinit std::atomic<uint32_t> barriers{0};

// Returns `last` and those before it, linked the other way round.
DeferHead* FirstOf(DeferHead* last) {
  DeferHead* first = nullptr;
  while (last != nullptr) {
    DeferHead* const before = last->next;
    last->next = first;
    first = last;
    last = before;
  }
  return first;
}

void AwaitDeferred() {
  using Clock = std::chrono::steady_clock;
  for (;;) {
    idle.store(1);  // before the look at what is deferred: Defer() looks after it was
    if (deferred.load() != nullptr) break;
    FutexWait(idle, 1, Clock::time_point::max());
  }
  idle.store(0);
  if (barriers.load() == 0) FutexWait(barriers, 0, Clock::now() + kGatherMax);
}

[[noreturn]] void RunCallbacks() {
  for (;;) {
    AwaitDeferred();
    DeferHead* next = FirstOf(deferred.exchange(nullptr));
    Synchronize();
    while (next != nullptr) {
      DeferHead* const head = next;
      next = head->next;  // the callback may free it
      head->callback(head);
    }
  }
}

struct Marker {
  DeferHead defer_head;
  std::mutex mutex;
  std::condition_variable passed;
  bool has_passed = false;
};
static_assert(offsetof(Marker, defer_head) == 0);

void MarkerPassed(DeferHead* head) {
  auto* marker = reinterpret_cast<Marker*>(head);
  // Notifies under the mutex: the waiter's next step is to destroy both.
  std::lock_guard lock(marker->mutex);
  marker->has_passed = true;
  marker->passed.notify_one();
}

// All callbacks go through one queue and one thread, so a marker put there now passes after all of
// them.
void PassMarker() {
  Marker marker;
  Defer(&marker.defer_head, &MarkerPassed);
  std::unique_lock lock(marker.mutex);
  marker.passed.wait(lock, [&marker] { return marker.has_passed; });
}

}  // namespace

std::errc StartCallbackThread() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (started.load()) return {};
  // Signals are for the threads of the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::errc error{};
  try {
    std::thread(&RunCallbacks).detach();
    started.store(true);
  } catch (const std::system_error& refused) {
    error = std::errc{refused.code().value()};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

void Defer(DeferHead* head, void (*fn)(DeferHead*)) {
  if (!started.load()) [[unlikely]] {
    if (StartCallbackThread() != std::errc{}) {
      std::fputs("nfswalk: no thread for the callbacks of RCU\n", stderr);
      std::abort();
    }
  }
  head->callback = fn;
  DeferHead* before = deferred.load();
  do {
    head->next = before;
  } while (!deferred.compare_exchange_weak(before, head));
  // `head` may be gone. Whoever deferred the first one wakes the thread.
  if (before == nullptr && idle.load() != 0 && idle.exchange(0) != 0) FutexWake(&idle);
}

void Synchronize() {
  AssertMaySleep();
  urcu_memb_synchronize_rcu();
  tsan::AcquireGracePeriod();
}

void Barrier() {
  AssertMaySleep();
  barriers.fetch_add(1);
  FutexWake(&barriers);
  PassMarker();
  PassMarker();
  barriers.fetch_sub(1);
}

}  // namespace nfswalk::rcu
