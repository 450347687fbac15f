// counted_lock: a spin lock, on a cache line of its own, that counts its acquisitions.
//
// Lock acquisitions per inode are the machine-independent measure of the inode cache's policies
// (INODE-20). The count costs its holder one plain add to the line that it owns anyway, so it is
// part of every build and the same for all policies.
#ifndef NFSWALK_RCU_COUNTED_LOCK_H_
#define NFSWALK_RCU_COUNTED_LOCK_H_

#include <atomic>
#include <cstdint>

#include "rcu/spin_lock.h"

namespace nfswalk::rcu {

// Usable with std::lock_guard.
class alignas(64) CountedLock {
 public:
  explicit CountedLock(LockClass lock_class = LockClass::kHashChain) : lock_(lock_class) {}

  void lock() {
    lock_.lock();
    Count();
  }
  bool try_lock() {
    if (!lock_.try_lock()) return false;
    Count();
    return true;
  }
  void unlock() { lock_.unlock(); }
  void AssertHeld() const { lock_.AssertHeld(); }

  // Since it was made; a moment ago, unless the lock is held.
  uint64_t acquisitions() const { return acquisitions_.load(std::memory_order_relaxed); }

 private:
  void Count() {
    acquisitions_.store(acquisitions_.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  }

  SpinLock lock_;
  std::atomic<uint64_t> acquisitions_{0};  // written under lock_
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_COUNTED_LOCK_H_
