// replay: a workload of inode_scale on the inode cache, compiled for the Recorder, by virtual
// threads that visit one file each in turn.
//
// A virtual thread is a thread with its own index and RCU state that runs only in its turn, so that
// the counts are the same each time, on any number of processors. No grace period ends during
// visits; one ends after each lap over all files, and its callbacks run alone.
#ifndef NFSWALK_BENCH_SHARED_LINES_REPLAY_H_
#define NFSWALK_BENCH_SHARED_LINES_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

#include "bench/inode_scale/workload_name.h"
#include "bench/shared_lines/recorder.h"
#include "nfsclient/icache/inode_policy.h"

namespace nfswalk::bench {

struct ReplayPlan {
  icache::InodePolicy policy;
  // All but kChmod, whose dirty inodes would have to be written back between laps.
  Workload workload;
  size_t threads;  // at most Recorder::kThreadsMax
  uint64_t files_per_thread = 256;
  uint64_t buckets_per_file = 16;
};

// Counts one lap after tables, pools and lists have reached their size. The error names a policy
// that cannot be built. One call at a time; Recorder::Places() belongs to the last one.
struct ReplayCount {
  SharedLines lines;
  uint64_t visits;
};
std::expected<ReplayCount, std::string> Replay(const ReplayPlan& plan);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_SHARED_LINES_REPLAY_H_
