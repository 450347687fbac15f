// plan: which workloads inode_scale runs over which policies, and how their turns interleave.
#ifndef NFSWALK_BENCH_INODE_SCALE_PLAN_H_
#define NFSWALK_BENCH_INODE_SCALE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bench/inode_scale/workload.h"
#include "bench/measure/outcome.h"
#include "bench/measure/row.h"
#include "bench/measure/turns.h"
#include "nfsclient/icache/inode_policy.h"

namespace nfswalk::bench {

struct Plan {
  std::vector<icache::InodePolicy> policies;
  std::vector<Workload> workloads;
  std::vector<size_t> threads;
  uint64_t files_per_thread = 100'000;
  size_t repetitions = 7;
  size_t chain_load = 1;
  uint64_t hit_percent = 0;  // of kPressure
  SyntheticFiles::Work work;
};

// One workload, once, by all threads.
struct WorkloadTurn {
  Workload workload;
  Turn turn;                     // ops: visits of files
  uint64_t global_acquisitions;  // of locks that every inode of the superblock takes
  // Growth of the highest acquisition count among the hash locks, where these locks are counted.
  uint64_t hash_acquisitions = 0;
};
using ReportTurn = std::function<void(const WorkloadTurn&)>;

// Takes a turn of each of `workloads`, all with one policy and one number of threads.
using TakeTurns =
    std::function<Outcome(const icache::InodePolicy& policy, size_t threads,
                          std::span<const Workload> workloads, const ReportTurn& report)>;

// Takes turns on directories that are made up as they are read, so that nothing but the inode cache
// is measured. `plan` outlives the result, whose error names a policy that cannot be built. Ends
// early after an interrupt.
TakeTurns SyntheticTurns(const Plan& plan);

// Runs `plan` round by round, every policy in each, and writes a row for each number of threads,
// policy and workload. After an interrupt only the rows that are complete.
Outcome RunPlan(const Plan& plan, const TakeTurns& take_turns, RowWriter& writer);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_PLAN_H_
