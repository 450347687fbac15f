// lru_list: unused objects, least recently used first, with a second chance (list_lru).
//
// An object is added with its last reference and stays when it is used again: taking a reference
// does not touch the list. Shrink() removes objects in use, rotates those used since, and passes
// the rest to the caller for destruction.
//
// Thread safety: Add and Remove need the object's own lock; Shrink takes the list's lock first and
// only tries the object's (the inverse order), so that it skips locked objects (INODE-3).
#ifndef NFSWALK_NFSCLIENT_ICACHE_LRU_LIST_H_
#define NFSWALK_NFSCLIENT_ICACHE_LRU_LIST_H_

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "rcu/counted_lock.h"
#include "rcu/sync_point.h"

namespace nfswalk::icache {

// The treatment of one object by Shrink(), decided by its callback under the object's lock.
enum class LruVerdict { kSkip, kRotate, kRemove, kReclaim };

template <class T>
class LruList {
 public:
  void Add(T& object) {
    std::lock_guard guard(lock_);
    list_.push_back(object);
    size_.store(list_.size(), std::memory_order_relaxed);
  }

  void Remove(T& object) {
    std::lock_guard guard(lock_);
    list_.erase(list_.iterator_to(object));
    size_.store(list_.size(), std::memory_order_relaxed);
  }

  // Examines up to `count` objects, oldest first. Unlinks each before `isolate(T&)`
  // (list_lru_walk()), which returns a verdict and, for kRemove and kReclaim, records in the object
  // that it is off the list: once isolate drops the object's lock, another thread may add it to
  // another list. Passes reclaimed objects to `take` with the list locked.
  template <class Isolate, class Take>
  void Shrink(size_t count, Isolate&& isolate, Take&& take) {
    std::lock_guard guard(lock_);
    for (; count > 0 && !list_.empty(); --count) {
      T& object = list_.front();
      list_.pop_front();
      const LruVerdict verdict = isolate(object);
      NFSWALK_SYNC_POINT("lru:isolated");
      if (verdict == LruVerdict::kSkip || verdict == LruVerdict::kRotate) {
        list_.push_back(object);
      } else if (verdict == LruVerdict::kReclaim) {
        take(object);
      }
    }
    size_.store(list_.size(), std::memory_order_relaxed);
  }

  // Relaxed: a recent value.
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  uint64_t lock_acquisitions() const { return lock_.acquisitions(); }

 private:
  using Hook = boost::intrusive::member_hook<T, boost::intrusive::list_member_hook<>, &T::lru_hook>;
  rcu::CountedLock lock_{rcu::LockClass::kLru};
  boost::intrusive::list<T, Hook> list_;
  std::atomic<size_t> size_{0};
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_LRU_LIST_H_
