// chain_locks: which lock guards which chain of a HashTable (INODE-14).
//
//   ChainLocks<false>   one lock a chain, in bit 0 of its head: no memory, no lock-order checks
//   ChainLocks<true>    one real lock a chain, beside its head: what a lock checker understands
//   StripedLocks        K locks, each for an equal range of hashes; with K = 1 one lock for all
//
// A policy has no algorithm of its own: HashTable is written once over all of them. Thread safety:
// all functions but the constructors.
#ifndef NFSWALK_RCU_CHAIN_LOCKS_H_
#define NFSWALK_RCU_CHAIN_LOCKS_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rcu/bit_lock_chain.h"
#include "rcu/counted_lock.h"
#include "rcu/rcu_chain.h"

namespace nfswalk::rcu {

template <bool kRealLock = kRealChainLock>
class ChainLocks {
 public:
  // Whether one lock can guard several chains.
  static constexpr bool kShared = false;
  // A table must have as many buckets, so that none has more than one lock.
  size_t size() const { return 1; }
  template <class Node, class Traits>
  using Head = BitLockChain<Node, Traits, kRealLock>;

  void Lock(auto& head, uint64_t) { head.lock(); }
  void LockNested(auto& head, uint64_t) { head.LockNested(); }
  bool TryLock(auto& head, uint64_t) { return head.try_lock(); }
  void Unlock(auto& head, uint64_t) { head.unlock(); }
  // Debug check only.
  void AssertHeld(const auto& head, uint64_t) const { head.AssertHeld(); }
};

class StripedLocks {
 public:
  static constexpr bool kShared = true;
  template <class Node, class Traits>
  using Head = RcuChain<Node, Traits>;

  // `locks` is rounded up to a power of two. Throws std::bad_alloc.
  explicit StripedLocks(size_t locks)
      : stripe_bits_(std::countr_zero(std::bit_ceil(locks))),
        stripes_(std::make_unique<CountedLock[]>(size_t{1} << stripe_bits_)) {}

  void Lock(auto&, uint64_t hash) { stripes_[StripeOf(hash)].lock(); }
  bool TryLock(auto&, uint64_t hash) { return stripes_[StripeOf(hash)].try_lock(); }
  void Unlock(auto&, uint64_t hash) { stripes_[StripeOf(hash)].unlock(); }
  void AssertHeld(const auto&, uint64_t hash) const { stripes_[StripeOf(hash)].AssertHeld(); }
  bool SameLock(uint64_t one_hash, uint64_t other_hash) const {
    return StripeOf(one_hash) == StripeOf(other_hash);
  }

  // As in ChainLocks: buckets and stripes divide the hashes in the same way.
  size_t size() const { return size_t{1} << stripe_bits_; }
  // Acquisitions of all locks, or of the one most often taken; exact while none is held.
  uint64_t acquisitions() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < size(); ++i) sum += stripes_[i].acquisitions();
    return sum;
  }
  uint64_t acquisitions_of_hottest() const {
    uint64_t most = 0;
    for (size_t i = 0; i < size(); ++i) most = std::max(most, stripes_[i].acquisitions());
    return most;
  }

 private:
  // By the highest bits, as buckets are chosen: a bucket has one stripe as its table grows.
  size_t StripeOf(uint64_t hash) const { return (hash >> 1) >> (63 - stripe_bits_); }

  const int stripe_bits_;
  const std::unique_ptr<CountedLock[]> stripes_;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_CHAIN_LOCKS_H_
