// replay_run: one run of make_replay: server, trees, subjects, turns, rows.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_REPLAY_RUN_H_
#define NFSWALK_BENCH_MAKE_REPLAY_REPLAY_RUN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/measure/outcome.h"
#include "bench/measure/run_options.h"

namespace nfswalk::bench {

struct ReplayOptions : RunOptions {
  ReplayOptions() : RunOptions{.threads = {1, 2, 4, 8}, .repetitions = 5} {}

  std::vector<std::string> plans;
  // Walk modes of nfswalk, each mounted beside the others; "kernel": the system calls on a tmpfs;
  // "libnfs": its synchronous calls, in the first pass only.
  std::vector<std::string> modes = {"ref",        "rcu-locked", "rcu-peek",
                                    "rcu-search", "kernel",     "libnfs"};
  uint64_t turn_ms = 500;
  size_t libnfs_one_in = 10;
  uint64_t kill_server_after = 0;  // calls, 0: never
};

// Works in new directories of the export and removes them again. Of each plan a row with its
// coverage; rows with trace, phase, subject, mode, threads, ops, mismatches, rpcs, peek_hits,
// need_ref, p50_ns, p99_ns (without the cost of the clock) and what AddTiming() says. Answers that
// differ are told on stderr and are an error in the end. After an interrupt it ends early with the
// rows so far.
Outcome RunReplay(const ReplayOptions& options);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_REPLAY_RUN_H_
