// warm_run: one run of warm_stat: the tree, the subjects, their turns.
#ifndef NFSWALK_BENCH_WARM_STAT_WARM_RUN_H_
#define NFSWALK_BENCH_WARM_STAT_WARM_RUN_H_

#include <cstdint>

#include "bench/measure/outcome.h"
#include "bench/measure/run_options.h"

namespace nfswalk::bench {

struct WarmOptions : RunOptions {
  WarmOptions() : RunOptions{.threads = {1, 2, 4}, .repetitions = 7} {}

  uint64_t random_files = 1'000'000;
  uint64_t turn_ms = 60;
};

// Works in a new directory of the export and removes it again. A row has: subject, mode, pattern,
// depth, threads, identities, and what AddTiming() says. An answer that is not the tree's is an
// error. After an interrupt it ends early with the rows so far.
Outcome RunWarmStat(const WarmOptions& options);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_WARM_RUN_H_
