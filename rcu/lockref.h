// lockref: a spin lock and a reference count in one word, so that most gets and puts take no lock.
//
// Contract    holding the lock freezes the count. Get*() and *Put*() change it with one
//             compare-exchange while the lock is free. A dead object never gets a reference again.
// Data        word_ = count (high half, signed) | lock class (bits 8-15, constant) | lock (bit 0).
// Invariants  I1 while bit 0 is set only the holder writes the word. I2 count < 0 <=> dead.
//             I3 dead stays dead until Revive(), by the next user of the memory.
// Protocol    locked: lock; if (count < 0) fail; ++count; unlock.
//             here:   loop { w = word; if locked(w) wait; if (count(w) < 0) fail; cas(w, w + 1) }
// Ordering    O1 Unlock() release -> Lock(), Get*(), *Put*() acquire: what was done under the
//                lock is seen.
//             O2 *Put*() release -> Lock() acquire: a thread that finds the count at zero under the
//                lock sees all that former holders did.
// Progress    a get waits only while the lock is held; TryPut() and PutUnlessLast() never wait.
// Tests       tests/unit/rcu/lockref_test.cc, tests/race/rcu_locks_race_test.cc,
//             tests/litmus/locks_litmus_test.cc (WALK-23)
#ifndef NFSWALK_RCU_LOCKREF_H_
#define NFSWALK_RCU_LOCKREF_H_

#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>

#include "rcu/lock_order.h"
#include "rcu/spin_wait.h"

namespace nfswalk::rcu {

class Lockref {
 public:
  // The count starts at 0.
  explicit constexpr Lockref(LockClass lock_class = LockClass::kDentry)
      : word_(static_cast<uint64_t>(lock_class) << kClassShift) {}
  Lockref(const Lockref&) = delete;
  Lockref& operator=(const Lockref&) = delete;

  // Takes a reference. Preconditions: the object is not dead, for instance since the caller holds a
  // reference.
  void Get() {
    [[maybe_unused]] const bool got = GetIfAbove(-1);
    assert(got);
  }
  // lockref_get_not_dead(). Revives a cached object (0 -> 1).
  bool GetNotDead() { return GetIfAbove(-1); }
  // lockref_get_not_zero(). Never 0 -> 1.
  bool GetNotZero() { return GetIfAbove(0); }

  // Drops a reference that is not the last. False, and nothing done, if it would be the last or the
  // lock is held; the caller then takes the lock.
  bool PutUnlessLast() { return PutIfAbove(1).has_value(); }
  // lockref_put_return(). Drops a reference, possibly the last, and returns the references left;
  // nullopt, and nothing done, if the lock is held or there is none to drop.
  std::optional<uint32_t> TryPut() { return PutIfAbove(0); }

  void Lock() {
    NoteAcquire(LockAttempt::kBlocking);
    Acquire();
  }
  // For a second lock of the same class; the caller follows an order inside it (parent first).
  void LockNested() {
    NoteAcquire(LockAttempt::kNested);
    Acquire();
  }
  bool TryLock() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while (!IsLocked(word)) {
      if (word_.compare_exchange_weak(word, word | kLocked,
                                      std::memory_order_acquire,  // O1, O2: Unlock(), PutIfAbove()
                                      std::memory_order_relaxed)) {
        NoteAcquire(LockAttempt::kTry);
        return true;
      }
    }
    return false;
  }
  void Unlock() {
    NoteLockRelease(this);
    // O1: pairs with Acquire(), TryLock(), *IfAbove(). A plain store suffices by I1.
    word_.store(word_.load(std::memory_order_relaxed) & ~kLocked, std::memory_order_release);
  }

  // References held now; a hint unless the lock is held. Negative if dead.
  int32_t count() const { return CountOf(word_.load(std::memory_order_relaxed)); }
  bool dead() const { return count() < 0; }
  // By any thread; a hint.
  bool locked() const { return IsLocked(word_.load(std::memory_order_relaxed)); }
  void AssertHeld() const { AssertLockHeld(this); }

  // The rest needs the lock held.
  void IncrementLocked() { SetCountLocked(count() + 1); }
  // Returns the references left.
  int32_t DecrementLocked() {
    assert(count() > 0);
    SetCountLocked(count() - 1);
    return count();
  }
  // lockref_mark_dead().
  void MarkDead() { SetCountLocked(kDead); }
  // Makes a dead or unused object usable again, with `references` references (type-stable memory
  // gets a new owner).
  void Revive(int32_t references) {
    assert(references >= 0);
    SetCountLocked(references);
  }

 private:
  static constexpr uint64_t kLocked = 1;
  static constexpr int kClassShift = 8;
  static constexpr uint64_t kClassMask = 0xff;
  static constexpr int kCountShift = 32;
  static constexpr uint64_t kOne = uint64_t{1} << kCountShift;
  static constexpr int32_t kDead = -128;

  static bool IsLocked(uint64_t word) { return (word & kLocked) != 0; }
  static int32_t CountOf(uint64_t word) { return static_cast<int32_t>(word >> kCountShift); }

  void NoteAcquire([[maybe_unused]] LockAttempt attempt) const {
#ifdef NFSWALK_LOCK_ORDER
    const uint64_t word = word_.load(std::memory_order_relaxed);
    NoteLockAcquire(static_cast<LockClass>((word >> kClassShift) & kClassMask), this, attempt);
#endif
  }

  bool GetIfAbove(int32_t floor) {
    SpinWait wait;
    uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (IsLocked(word)) {
        wait.Once();
        word = word_.load(std::memory_order_relaxed);
        continue;
      }
      if (CountOf(word) <= floor) return false;
      if (word_.compare_exchange_weak(word, word + kOne,
                                      std::memory_order_acquire,  // O1: pairs with Unlock()
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
  }

  std::optional<uint32_t> PutIfAbove(int32_t floor) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while (!IsLocked(word) && CountOf(word) > floor) {
      if (word_.compare_exchange_weak(word, word - kOne,
                                      std::memory_order_acq_rel,  // O1: Unlock(), O2: Acquire()
                                      std::memory_order_relaxed)) {
        return static_cast<uint32_t>(CountOf(word) - 1);
      }
    }
    return std::nullopt;
  }

  void Acquire() {
    SpinWait wait;
    uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (IsLocked(word)) {
        wait.Once();
        word = word_.load(std::memory_order_relaxed);
      } else if (word_.compare_exchange_weak(
                     word, word | kLocked,
                     std::memory_order_acquire,  // O1, O2: Unlock(), PutIfAbove()
                     std::memory_order_relaxed)) {
        return;
      }
    }
  }

  void SetCountLocked(int32_t count) {
    assert(locked());
    const uint64_t low = word_.load(std::memory_order_relaxed) & (kOne - 1);
    word_.store(low | static_cast<uint64_t>(static_cast<uint32_t>(count)) << kCountShift,
                std::memory_order_relaxed);
  }

  std::atomic<uint64_t> word_;
};

static_assert(sizeof(Lockref) == 8);

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_LOCKREF_H_
