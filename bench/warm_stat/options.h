// options: what warm_stat is told on its command line.
#ifndef NFSWALK_BENCH_WARM_STAT_OPTIONS_H_
#define NFSWALK_BENCH_WARM_STAT_OPTIONS_H_

#include <cstdint>
#include <variant>

#include "bench/command_line.h"

namespace nfswalk::bench {

struct WarmOptions : RunOptions {
  WarmOptions() : RunOptions{.threads = {1, 2, 4}, .repetitions = 7} {}

  uint64_t random_files = 1'000'000;
  uint64_t turn_ms = 60;
};

// An exit code if there is nothing to run: 0 after --help, 2 after bad arguments, explained on
// stderr.
std::variant<WarmOptions, int> ParseWarmOptions(int argc, char** argv);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_OPTIONS_H_
