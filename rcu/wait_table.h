// wait_table: wait queues shared by address (bit_waitqueue()).
//
// Contract    a thread that must wait takes a ticket under the object's lock, drops every lock and
//             sleeps; the thread that changes the state, under the same lock, wakes all tickets
//             taken before. Wake-ups may be spurious. A woken thread must not touch the object: it
//             may be freed.
// Data        a fixed number of buckets, chosen by the object's address, which outlive all objects.
//             waiters: outstanding tickets. sequence: advanced by each wake-up.
// Invariants  I1 a ticket's sequence was read under the object's lock, before its state changed.
// Protocol    locked: cond.wait(lock).
//             here:   t = Prepare(object); unlock; Sleep(t); lock and check again, from the start.
// Ordering    none of its own: Prepare() and the change that Wake() reports are under one lock, so
//             the waker sees the waiter, or the waiter saw the change (INODE-8).
// Staleness   a Wake() that reads waiters as 0 has no waiter to wake.
// Progress    Sleep() ends with any Wake() of the bucket after its Prepare().
// Lifetime    that of the process.
// Tests       tests/unit/rcu/wait_table_test.cc, tests/race/inode_wait_race_test.cc
#ifndef NFSWALK_RCU_WAIT_TABLE_H_
#define NFSWALK_RCU_WAIT_TABLE_H_

#include <atomic>
#include <cstdint>

namespace nfswalk::rcu {

class WaitTable {
 private:
  struct alignas(64) Bucket {
    std::atomic<uint32_t> waiters{0};
    std::atomic<uint32_t> sequence{0};
  };

 public:
  class [[nodiscard]] Ticket {
   private:
    friend class WaitTable;
    Ticket(Bucket* bucket, uint32_t sequence) : bucket_(bucket), sequence_(sequence) {}
    Bucket* bucket_;
    uint32_t sequence_;
  };

  // Preconditions: the lock under which the awaited change is made. Must be followed by Sleep().
  static Ticket Prepare(const void* object);

  // Preconditions: no spinning lock held, no read-side section.
  static void Sleep(const Ticket& ticket);

  // Preconditions: the change was made under the lock; it may have been dropped since. Costs one
  // load without waiters.
  static void Wake(const void* object);

 private:
  static constexpr int kBucketBits = 8;
  static Bucket& BucketOf(const void* object);
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_WAIT_TABLE_H_
