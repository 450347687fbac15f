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

// On the stack of the thread of callbacks: what a walker reads of this library is never stored to.
struct Queue {
  // Objects that wait for a grace period, deferred last first.
  std::atomic<DeferHead*> deferred{nullptr};
  // 1 while the thread sleeps, or is about to, as it has found nothing deferred.
  std::atomic<uint32_t> idle{0};
  // Barrier()s in flight.
  std::atomic<uint32_t> barriers{0};
};

// Null until the thread runs.
constinit std::atomic<Queue*> the_queue{nullptr};

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

void AwaitDeferred(Queue& queue) {
  using Clock = std::chrono::steady_clock;
  for (;;) {
    queue.idle.store(1);  // before the look at what is deferred: Defer() looks after it was
    if (queue.deferred.load() != nullptr) break;
    FutexWait(queue.idle, 1, Clock::time_point::max());
  }
  queue.idle.store(0);
  if (queue.barriers.load() == 0) FutexWait(queue.barriers, 0, Clock::now() + kGatherMax);
}

[[noreturn]] void RunCallbacks() {
  Queue queue;
  the_queue.store(&queue);
  the_queue.notify_all();
  for (;;) {
    AwaitDeferred(queue);
    DeferHead* next = FirstOf(queue.deferred.exchange(nullptr));
    Synchronize();
    while (next != nullptr) {
      DeferHead* const head = next;
      next = head->next;  // the callback may free it
      head->callback(head);
    }
  }
}

// The queue of the thread that runs, or is started now.
Queue& StartedQueue() {
  if (Queue* const queue = the_queue.load()) return *queue;
  if (StartCallbackThread() != std::errc{}) {
    std::fputs("nfswalk: no thread for the callbacks of RCU\n", stderr);
    std::abort();
  }
  return *the_queue.load();
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
  if (the_queue.load() != nullptr) return {};
  // Signals are for the threads of the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::errc error{};
  try {
    std::thread(&RunCallbacks).detach();
    the_queue.wait(nullptr);
  } catch (const std::system_error& refused) {
    error = std::errc{refused.code().value()};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

void Defer(DeferHead* head, void (*fn)(DeferHead*)) {
  Queue& queue = StartedQueue();
  head->callback = fn;
  DeferHead* before = queue.deferred.load();
  do {
    head->next = before;
  } while (!queue.deferred.compare_exchange_weak(before, head));
  // `head` may be gone. Whoever deferred the first one wakes the thread.
  if (before != nullptr || queue.idle.load() == 0) return;
  if (queue.idle.exchange(0) != 0) FutexWake(&queue.idle);
}

void Synchronize() {
  AssertMaySleep();
  urcu_memb_synchronize_rcu();
  tsan::AcquireGracePeriod();
}

void Barrier() {
  AssertMaySleep();
  Queue& queue = StartedQueue();
  queue.barriers.fetch_add(1);
  FutexWake(&queue.barriers);
  PassMarker();
  PassMarker();
  queue.barriers.fetch_sub(1);
}

}  // namespace nfswalk::rcu
