// driver: runs the workloads over policies and threads, interleaved, and keeps every timing.
#ifndef NFSWALK_BENCH_INODE_SCALE_DRIVER_H_
#define NFSWALK_BENCH_INODE_SCALE_DRIVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "bench/inode_scale/workload.h"
#include "bench/team.h"
#include "nfsclient/icache/inode_policy.h"

namespace nfswalk::bench {

struct Plan {
  std::vector<icache::InodePolicy> policies;
  std::vector<Workload> workloads;
  std::vector<size_t> threads;
  uint64_t files_per_thread = 100'000;
  size_t repetitions = 7;
  size_t chain_load = 1;
  SyntheticFiles::Work work;
};

// One workload, once, by all threads.
struct Timing {
  Workload workload;
  icache::InodePolicy policy;
  size_t threads;
  TeamTime time;
  uint64_t inodes;
  uint64_t global_acquisitions;  // of locks that every inode of the superblock goes through
};

// Repetition by repetition, and inside one policy by policy, so that what else the machine does
// falls on all alike. Threads are pinned, round robin. Calls `report` after each timing; ends early
// when `stop` is set. The error names a policy that cannot be built.
std::expected<void, std::string> RunPlan(const Plan& plan,
                                         const std::function<void(const Timing&)>& report,
                                         const std::atomic<bool>& stop);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_DRIVER_H_
