#include "rcu/defer.h"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

#include "rcu/lock_order.h"

namespace nfswalk::rcu {

static_assert(offsetof(DeferHead, urcu_head) == 0);

namespace {

#ifdef NFSWALK_TSAN
void RunCallback(rcu_head* head) {
  tsan::AcquireGracePeriod();
  auto* deferred = reinterpret_cast<DeferHead*>(head);
  deferred->callback(deferred);
}
#endif

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

}  // namespace

std::errc StartCallbackThread() {
  static std::mutex mutex;
  static bool started = false;  // guarded by mutex
  const std::lock_guard lock(mutex);
  if (started) return {};
  // There is no way to hand liburcu a thread: one that does nothing shows whether there is room.
  try {
    std::thread([] {}).join();
  } catch (const std::system_error& error) {
    return std::errc{error.code().value()};
  }
  urcu_memb_get_default_call_rcu_data();
  started = true;
  return {};
}

void Defer(DeferHead* head, void (*fn)(DeferHead*)) {
  // Registers the thread, as call_rcu() requires. The end of the section annotates, for the
  // sanitizer, that this thread's stores happen before the callback.
  ReadGuard registered;
#ifdef NFSWALK_TSAN
  head->callback = fn;
  tsan::ReleaseReadSection();
  urcu_memb_call_rcu(&head->urcu_head, RunCallback);
#else
  // DeferHead begins with its rcu_head, so the two pointers have one value, and the cast saves
  // every object the eight bytes of a second function pointer.
  urcu_memb_call_rcu(&head->urcu_head, reinterpret_cast<void (*)(rcu_head*)>(fn));
#endif
}

void Synchronize() {
  AssertMaySleep();
  urcu_memb_synchronize_rcu();
  tsan::AcquireGracePeriod();
}

namespace {

// All callbacks go through one first-in first-out queue and one thread, so a marker put there now
// passes after all of them. urcu_memb_barrier() would do the same with memory of its own, which
// ThreadSanitizer reports.
void PassMarker() {
  Marker marker;
  Defer(&marker.defer_head, &MarkerPassed);
  std::unique_lock lock(marker.mutex);
  marker.passed.wait(lock, [&marker] { return marker.has_passed; });
}

}  // namespace

void Barrier() {
  AssertMaySleep();
  PassMarker();
  PassMarker();
}

}  // namespace nfswalk::rcu
