// bit_lock_chain: an RcuChain with its lock in bit 0 of the head's pointer, or a real one beside
// it.
//
// Contract    mutual exclusion among writers of the chain; readers do not take the lock.
// Data        bit 0 of head_, unless kRealLock.
// Invariants  I1 while bit 0 is set only the holder changes the head.
// Protocol    lock: set the bit if it is clear, else spin. unlock: clear it.
// Ordering    O1 unlock() release -> lock() acquire: the next holder sees the last one's changes.
// Progress    lock() spins 64 pauses, then yields the processor on each turn: a holder may have
//             been preempted (INODE-24).
// Lifetime    the table's.
// Tests       tests/unit/rcu/chain_locks_test.cc, tests/race/rcu_locks_race_test.cc,
//             tests/litmus/chains_litmus_test.cc
#ifndef NFSWALK_RCU_BIT_LOCK_CHAIN_H_
#define NFSWALK_RCU_BIT_LOCK_CHAIN_H_

#include <atomic>
#include <cassert>
#include <cstdint>
#include <type_traits>

#include "rcu/lock_order.h"
#include "rcu/rcu_chain.h"
#include "rcu/spin_lock.h"
#include "rcu/spin_wait.h"

namespace nfswalk::rcu {

// A real lock beside each head gives lock-order checks and sanitizer coverage to all users, for
// eight bytes a chain: for debug builds.
#if !defined(NDEBUG) || defined(NFSWALK_REAL_CHAIN_LOCK)
inline constexpr bool kRealChainLock = true;
#else
inline constexpr bool kRealChainLock = false;
#endif

// Usable with std::lock_guard. lock() has class kHashChain.
template <class Node, class Traits, bool kRealLock = kRealChainLock>
class BitLockChain : public RcuChain<Node, Traits> {
  using Chain = RcuChain<Node, Traits>;

 public:
  void lock() {
    if constexpr (kRealLock) {
      lock_.lock();
    } else {
      NoteLockAcquire(LockClass::kHashChain, this, LockAttempt::kBlocking);
      AcquireBit();
    }
  }
  // For a second chain; the caller follows an order among chains (see HashTable::LockTwo()).
  void LockNested() {
    if constexpr (kRealLock) {
      lock_.LockNested();
    } else {
      NoteLockAcquire(LockClass::kHashChain, this, LockAttempt::kNested);
      AcquireBit();
    }
  }
  bool try_lock() {
    if constexpr (kRealLock) {
      return lock_.try_lock();
    } else {
      if (!TryAcquireBit()) return false;
      NoteLockAcquire(LockClass::kHashChain, this, LockAttempt::kTry);
      return true;
    }
  }
  // Debug check only.
  void AssertHeld() const {
    if constexpr (kRealLock) {
      lock_.AssertHeld();
    } else {
      AssertLockHeld(this);
      assert((head_.load(std::memory_order_relaxed) & kLocked) != 0);
    }
  }
  void unlock() {
    if constexpr (kRealLock) {
      lock_.unlock();
    } else {
      NoteLockRelease(this);
      head_.store(head_.load(std::memory_order_relaxed) & ~kLocked,
                  std::memory_order_release);  // O1: pairs with TryAcquireBit()
    }
  }

 private:
  using Chain::head_;
  using Chain::kLocked;

  struct NoLock {};

  bool TryAcquireBit() {
    uintptr_t head = head_.load(std::memory_order_relaxed);
    return (head & kLocked) == 0 &&
           head_.compare_exchange_strong(head, head | kLocked,
                                         std::memory_order_acquire,  // O1: pairs with unlock()
                                         std::memory_order_relaxed);
  }
  void AcquireBit() {
    for (SpinWait wait; !TryAcquireBit(); wait.Once()) {
    }
  }

  [[no_unique_address]] std::conditional_t<kRealLock, SpinLock, NoLock> lock_ = MakeLock();

  static constexpr auto MakeLock() {
    if constexpr (kRealLock) {
      return SpinLock(LockClass::kHashChain);
    } else {
      return NoLock{};
    }
  }
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_BIT_LOCK_CHAIN_H_
