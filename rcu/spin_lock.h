// spin_lock: a one-byte lock for critical sections of a few instructions.
//
// Contract    mutual exclusion between lock() and unlock(); not recursive, not fair. The holder
//             does not sleep, send an RPC or drop a last reference.
// Data        held_.
// Invariants  I1 while held_ is set only the holder writes it.
// Protocol    lock: exchange 1 until the old value was 0, looking and waiting in between.
//             unlock: store 0. A lock that wakes sleepers would pay a second locked instruction
//             for each unlock, which is a fifth of what the inode cache does for one inode.
// Ordering    O1 unlock() release -> lock()/try_lock() acquire: the next holder sees the last one's
//                stores.
// Progress    a waiter spins, then yields, then sleeps between two looks (SpinWait): a preempted
//             holder gets the processor (INODE-24).
// Tests       tests/unit/rcu/spin_lock_test.cc, tests/race/rcu_locks_race_test.cc,
//             tests/litmus/locks_litmus_test.cc
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
    if (held_.load(std::memory_order_relaxed) || !Take()) return false;
    NoteLockAcquire(lock_class(), this, LockAttempt::kTry);
    return true;
  }
  void unlock() {
    NoteLockRelease(this);
    held_.store(false, std::memory_order_release);  // O1: pairs with Take()
  }
  // Debug check only.
  void AssertHeld() const { AssertLockHeld(this); }

 private:
  bool Take() {
    return !held_.exchange(true, std::memory_order_acquire);  // O1: pairs with unlock()
  }
  void Acquire() {
    if (!Take()) [[unlikely]]
      AcquireSlow();
  }
  void AcquireSlow();

  std::atomic<bool> held_{false};
#ifdef NFSWALK_LOCK_ORDER
  LockClass lock_class_;
#endif
};

static_assert(sizeof(SpinLock) <= 2);

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_SPIN_LOCK_H_
