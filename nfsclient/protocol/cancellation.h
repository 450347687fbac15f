// cancellation: ends the calls of a thread that wait for the server, from another thread.
//
//   Cancellation interrupt;                  // shared with the thread that may call Cancel()
//   {
//     const CancelScope scope(interrupt);
//     client.Stat(path, who);                // operation_canceled soon after interrupt.Cancel()
//   }
//
// Invariants, under Cancellation::mutex_:
//   1. A thread that sleeps with a wait of its own has an OnCancel in `waits_`, so that Cancel(),
//      which sets the flag first, wakes it; a thread that comes later sees the flag.
//   2. An OnCancel leaves the list before what it wakes is gone.
//
// Ordering: canceled_ is read by waiters under the mutex of what they wait for, which Cancel()
// takes to wake them.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_CANCELLATION_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_CANCELLATION_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace nfswalk::protocol {

// For good: a fresh one is needed for later calls. Outlives the scopes it is given to. Allocates
// nothing.
//
// Thread safety: Cancel() and canceled(): any thread, but no signal handler. Several threads may
// have scopes of it at once.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Ends the calls of all threads in a CancelScope of this, and their later ones in it, in
  // operation_canceled, on a hard mount too; what is cached is still answered. Whether a change
  // in flight was made is unknown. Does not wait for them. Idempotent.
  void Cancel();
  bool canceled() const { return canceled_.load(); }

  // Returns that of the calling thread's innermost scope, or null.
  static Cancellation* Current() { return current_; }
  static bool IsCanceled() { return current_ != nullptr && current_->canceled(); }

 private:
  friend class CancelScope;
  friend class OnCancel;

  static inline constinit thread_local Cancellation* current_ = nullptr;

  std::atomic<bool> canceled_{false};
  std::mutex mutex_;
  class OnCancel* waits_ = nullptr;  // linked by next_
};

// While it lives the calls of this thread may be ended by `cancellation`. Nests: the innermost one
// counts.
class [[nodiscard]] CancelScope {
 public:
  explicit CancelScope(Cancellation& cancellation)
      : outer_(std::exchange(Cancellation::current_, &cancellation)) {}
  ~CancelScope() { Cancellation::current_ = outer_; }
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  Cancellation* const outer_;
};

// While it lives Cancel() of the thread's Cancellation calls `wake()`, on the canceling thread.
// Preconditions: the calling thread holds no lock that `wake` takes, here and at the end.
class OnCancel {
 public:
  template <typename Wake>
  explicit OnCancel(const Wake& wake)
      : cancellation_(Cancellation::Current()),
        wake_([](const void* what) { (*static_cast<const Wake*>(what))(); }),
        what_(&wake) {
    if (cancellation_ == nullptr) return;
    const std::lock_guard lock(cancellation_->mutex_);
    next_ = cancellation_->waits_;
    link_ = &cancellation_->waits_;
    if (next_ != nullptr) next_->link_ = &next_;
    *link_ = this;
  }
  ~OnCancel() {
    if (cancellation_ == nullptr) return;
    const std::lock_guard lock(cancellation_->mutex_);
    *link_ = next_;
    if (next_ != nullptr) next_->link_ = link_;
  }
  OnCancel(const OnCancel&) = delete;
  OnCancel& operator=(const OnCancel&) = delete;

 private:
  friend class Cancellation;

  Cancellation* const cancellation_;
  void (*const wake_)(const void*);
  const void* const what_;
  OnCancel* next_ = nullptr;
  OnCancel** link_ = nullptr;  // what points here
};

inline void Cancellation::Cancel() {
  const std::lock_guard lock(mutex_);
  canceled_.store(true);
  for (OnCancel* wait = waits_; wait != nullptr; wait = wait->next_) wait->wake_(wait->what_);
}

// std::condition_variable::wait_until(), which a Cancellation of the thread ends, too. `lock` is
// let go and taken again if there is one.
template <typename Predicate>
bool WaitUntil(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
               std::chrono::steady_clock::time_point until, Predicate done) {
  if (Cancellation::Current() == nullptr) [[likely]]
    return condition.wait_until(lock, until, done);
  std::mutex& mutex = *lock.mutex();
  lock.unlock();
  {
    const auto wake = [&] {
      {
        const std::lock_guard guard(mutex);
      }  // after the waiter's last look at the flag
      condition.notify_all();
    };
    const OnCancel on_cancel(wake);
    lock.lock();
    condition.wait_until(lock, until, [&] { return Cancellation::IsCanceled() || done(); });
    lock.unlock();
  }
  lock.lock();
  return done();
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_CANCELLATION_H_
