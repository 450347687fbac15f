// bit_lock_chain: the head of an RCU hash chain, with the chain's lock in bit 0 of its pointer.
//
// Contract    readers walk the chain inside a read-side section without the lock; changes need it.
//             A removed node keeps its next pointer, so a reader standing on it finds its way on.
// Data        head_ = pointer | moved (bit 1) | locked (bit 0, unless kRealLock); Next(node):
//             written under the lock. Node pointers never carry bits.
// Invariants  I1 while bit 0 is set only the holder changes the head. I2 moved is for ever: the
//             nodes are in another table, this chain stays empty.
// Protocol    locked: lock; for (n = head; n; n = n->next); unlock.
//             here:   read section; for (n = FirstRcu(); n; n = NextRcu(*n)).
// Ordering    O1 InsertHead()/Remove() release -> FirstRcu(), NextRcu() acquire: a reader that sees
//                a node sees it initialised. O2 unlock() release -> lock() acquire.
//             O3 MarkMoved() release -> moved(), lock() acquire: who sees the mark sees the new
//                table.
// Staleness   a reader may miss a node that is being moved to another chain: a miss proves nothing.
// Progress    lock() spins 64 pauses, then yields the processor on each turn: a holder may have
//             been preempted (icache 2.1).
// Lifetime    nodes are freed a grace period after Remove(), or live in type-stable memory.
// Tests       tests/unit/rcu/bit_lock_chain_test.cc, tests/race/rcu_locks_race_test.cc
#ifndef NFSWALK_RCU_BIT_LOCK_CHAIN_H_
#define NFSWALK_RCU_BIT_LOCK_CHAIN_H_

#include <atomic>
#include <cassert>
#include <cstdint>
#include <type_traits>

#include "rcu/lock_order.h"
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

// Traits: static std::atomic<Node*>& Next(Node&). alignof(Node) >= 4.
// Usable with std::lock_guard. lock() has class kHashChain.
template <class Node, class Traits, bool kRealLock = kRealChainLock>
class BitLockChain {
 public:
  BitLockChain() = default;
  BitLockChain(const BitLockChain&) = delete;
  BitLockChain& operator=(const BitLockChain&) = delete;

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
  void unlock() {
    if constexpr (kRealLock) {
      lock_.unlock();
    } else {
      NoteLockRelease(this);
      head_.store(head_.load(std::memory_order_relaxed) & ~kLocked,
                  std::memory_order_release);  // O2: pairs with TryAcquireBit()
    }
  }

  // Readers, in a read-side section.
  Node* FirstRcu() const {
    return Pointer(head_.load(std::memory_order_acquire));  // O1: pairs with InsertHead(), Remove()
  }
  static Node* NextRcu(Node& node) {
    return Traits::Next(node).load(std::memory_order_acquire);  // O1: InsertHead(), Remove()
  }
  bool moved() const {
    return (head_.load(std::memory_order_acquire) & kMoved) != 0;  // O3: pairs with MarkMoved()
  }

  // The rest needs the lock, or a chain no other thread can reach yet.
  Node* First() const { return Pointer(head_.load(std::memory_order_relaxed)); }
  static Node* Next(Node& node) { return Traits::Next(node).load(std::memory_order_relaxed); }

  void InsertHead(Node* node) {
    assert(!moved());
    Traits::Next(*node).store(First(), std::memory_order_relaxed);
    SetFirst(node);
  }

  // Precondition: `node` is in this chain. Costs a walk to it.
  void Remove(Node* node) {
    Node* const next = Next(*node);
    Node* previous = First();
    if (previous == node) return SetFirst(next);
    while (Next(*previous) != node) previous = Next(*previous);
    Traits::Next(*previous).store(next, std::memory_order_release);  // O1: pairs with NextRcu()
  }

  // Empties the chain for good and sends everybody to the new table.
  void MarkMoved() {
    head_.store((head_.load(std::memory_order_relaxed) & kLocked) | kMoved,
                std::memory_order_release);  // O3: pairs with moved(), TryAcquireBit()
  }

 private:
  static constexpr uintptr_t kLocked = 1;
  static constexpr uintptr_t kMoved = 2;

  struct NoLock {};

  static Node* Pointer(uintptr_t head) {
    return reinterpret_cast<Node*>(head & ~(kLocked | kMoved));
  }

  void SetFirst(Node* node) {
    static_assert(alignof(Node) >= 4);
    const uintptr_t bits = head_.load(std::memory_order_relaxed) & (kLocked | kMoved);
    head_.store(reinterpret_cast<uintptr_t>(node) | bits,
                std::memory_order_release);  // O1: pairs with FirstRcu()
  }

  bool TryAcquireBit() {
    uintptr_t head = head_.load(std::memory_order_relaxed);
    return (head & kLocked) == 0 &&
           head_.compare_exchange_strong(head, head | kLocked,
                                         std::memory_order_acquire,  // O2: pairs with unlock()
                                         std::memory_order_relaxed);
  }
  void AcquireBit() {
    for (SpinWait wait; !TryAcquireBit(); wait.Once()) {
    }
  }

  std::atomic<uintptr_t> head_{0};
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
