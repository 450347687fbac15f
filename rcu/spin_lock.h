// spin_lock: a four-byte lock for critical sections of a few instructions.
//
// Contract    mutual exclusion between lock() and unlock(); not recursive, not fair. The holder
//             does not sleep, send an RPC or drop a last reference.
// Data        state_: 0 free, 1 held, 2 held and somebody may be asleep on it.
// Invariants  I1 a sleeper exists only while state_ is 2 or its wake-up is on the way.
// Protocol    lock: 0 -> 1, else spin a bounded time, else exchange 2 until the old value was 0,
//             asleep in between. unlock: exchange 0; wake one if the old value was 2.
// Ordering    O1 unlock() release -> lock()/try_lock() acquire: the next holder sees the last one's
//                stores.
// Progress    a waiter spins 64 pauses, then sleeps: a preempted holder gets the processor
//             (icache 0).
// Tests       tests/unit/rcu/spin_lock_test.cc, tests/race/rcu_locks_race_test.cc
#ifndef NFSWALK_RCU_SPIN_LOCK_H_
#define NFSWALK_RCU_SPIN_LOCK_H_

#include <atomic>
#include <cstdint>

#include "rcu/lock_order.h"

namespace nfswalk::rcu {

// Usable with std::lock_guard and std::unique_lock.
class SpinLock {
 public:
  // A lock without a class is a leaf: no other lock may be taken while it is held.
  constexpr SpinLock() : SpinLock(LockClass::kLeaf) {}
#ifdef NFSWALK_LOCK_ORDER
  explicit constexpr SpinLock(LockClass lock_class) : lock_class_(lock_class) {}
  LockClass lock_class() const { return lock_class_; }
#else
  explicit constexpr SpinLock(LockClass) {}
  LockClass lock_class() const { return LockClass::kLeaf; }
#endif
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() {
    NoteLockAcquire(lock_class(), this, LockAttempt::kBlocking);
    Acquire();
  }
  // For a second lock of the class last taken; the caller follows an order inside the class.
  void LockNested() {
    NoteLockAcquire(lock_class(), this, LockAttempt::kNested);
    Acquire();
  }
  bool try_lock() {
    uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld,
                                        std::memory_order_acquire,  // O1: pairs with unlock()
                                        std::memory_order_relaxed)) {
      return false;
    }
    NoteLockAcquire(lock_class(), this, LockAttempt::kTry);
    return true;
  }
  void unlock() {
    NoteLockRelease(this);
    // O1: pairs with Acquire() and try_lock()
    if (state_.exchange(kFree, std::memory_order_release) == kContended) [[unlikely]]
      WakeOne();
  }
  // Debug check only.
  void AssertHeld() const { AssertLockHeld(this); }

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kHeld = 1;
  static constexpr uint32_t kContended = 2;

  void Acquire() {
    uint32_t expected = kFree;
    if (!state_.compare_exchange_weak(expected, kHeld,
                                      std::memory_order_acquire,  // O1: pairs with unlock()
                                      std::memory_order_relaxed)) [[unlikely]] {
      AcquireSlow();
    }
  }
  void AcquireSlow();
  void WakeOne();

  std::atomic<uint32_t> state_{kFree};
#ifdef NFSWALK_LOCK_ORDER
  LockClass lock_class_;
#endif
};

#ifndef NFSWALK_LOCK_ORDER
static_assert(sizeof(SpinLock) == 4);
#else
static_assert(sizeof(SpinLock) <= 8);
#endif

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_SPIN_LOCK_H_
