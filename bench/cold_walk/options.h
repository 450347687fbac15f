// options: what cold_walk is told on its command line.
#ifndef NFSWALK_BENCH_COLD_WALK_OPTIONS_H_
#define NFSWALK_BENCH_COLD_WALK_OPTIONS_H_

#include <cstdint>
#include <variant>

#include "bench/command_line.h"

namespace nfswalk::bench {

struct ColdOptions : RunOptions {
  ColdOptions() : RunOptions{.threads = {1, 4}, .repetitions = 5} {}

  uint64_t files = 100'000;
  uint64_t libnfs_one_in = 10;
};

// An exit code if there is nothing to run: 0 after --help, 2 after bad arguments, explained on
// stderr.
std::variant<ColdOptions, int> ParseColdOptions(int argc, char** argv);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_OPTIONS_H_
