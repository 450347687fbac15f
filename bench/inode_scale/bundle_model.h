// bundle_model: bulkstat over a bundle of policies as a queueing model.
#ifndef NFSWALK_BENCH_INODE_SCALE_BUNDLE_MODEL_H_
#define NFSWALK_BENCH_INODE_SCALE_BUNDLE_MODEL_H_

#include <cstddef>

#include "bench/inode_scale/hold_times.h"
#include "bench/inode_scale/queueing_model.h"
#include "nfsclient/icache/inode_policy.h"

namespace nfswalk::bench {

// What one thread does for one inode: a lookup that misses, an insertion, joining and leaving the
// list, leaving the hash. `inode_ns` is the time that all of it took one thread; what is not spent
// under the locks of the policy is computation.
QueueingModel BulkstatModel(const icache::InodePolicy& policy, const HoldTimes& times,
                            double inode_ns, size_t files_per_thread);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_BUNDLE_MODEL_H_
