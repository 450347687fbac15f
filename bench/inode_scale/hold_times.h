// hold_times: how long the inode cache's locks are held, measured on one thread: what the queueing
// model is fed with (docs/inode_cache.md).
#ifndef NFSWALK_BENCH_INODE_SCALE_HOLD_TIMES_H_
#define NFSWALK_BENCH_INODE_SCALE_HOLD_TIMES_H_

#include <cstddef>

namespace nfswalk::bench {

// In nanoseconds, medians of a few rounds; taking and releasing the lock included.
struct HoldTimes {
  double hash_find = 0;    // a locked lookup that misses
  double hash_insert = 0;  // the same again, and the insertion
  double hash_unhash = 0;
  double list = 0;      // joining the superblock's list, or leaving it
  double transfer = 0;  // of a cache line from one processor to another
};

// With as many inodes in the table and on the list as are given.
HoldTimes MeasureHoldTimes(size_t inodes, size_t chain_load);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_HOLD_TIMES_H_
