// hold_times: how long one thread holds the inode cache's locks: the input of the queueing model
// (bench/report/queueing_model.py).
#ifndef NFSWALK_BENCH_INODE_SCALE_HOLD_TIMES_H_
#define NFSWALK_BENCH_INODE_SCALE_HOLD_TIMES_H_

#include <cstddef>

#include "bench/measure/outcome.h"
#include "bench/measure/row.h"

namespace nfswalk::bench {

// Writes a row for each hold, taking and releasing the lock included, with `files` inodes in the
// table and on the list: "hash_find" (a locked lookup that misses), "hash_insert" (the same again,
// and the insertion), "hash_unhash", "list" (joining the superblock's list, or leaving it),
// "transfer" (of a cache line from one processor to another; not on one processor).
Outcome MeasureHoldTimes(size_t files, size_t chain_load, RowWriter& writer);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_HOLD_TIMES_H_
