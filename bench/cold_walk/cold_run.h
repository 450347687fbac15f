// cold_run: one run of cold_walk: the tree, everyone who takes turns, the turns.
#ifndef NFSWALK_BENCH_COLD_WALK_COLD_RUN_H_
#define NFSWALK_BENCH_COLD_WALK_COLD_RUN_H_

#include <cstdint>

#include "bench/measure/outcome.h"
#include "bench/measure/run_options.h"

namespace nfswalk::bench {

struct ColdOptions : RunOptions {
  ColdOptions() : RunOptions{.threads = {1, 4}, .repetitions = 5} {}

  uint64_t files = 100'000;
  uint64_t libnfs_one_in = 10;
};

// Works in a new directory of the export and removes it again. A row has: subject, protocol ("v3"),
// mode, threads, files and rpcs of a walk (the median of all turns), and what AddTiming() says,
// where an operation is a file and its cost the time that passes. After an interrupt it ends early
// with the rows that are complete.
Outcome RunColdWalks(const ColdOptions& options);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_COLD_RUN_H_
