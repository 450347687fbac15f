// options: what shared_lines is told on its command line.
#ifndef NFSWALK_BENCH_SHARED_LINES_OPTIONS_H_
#define NFSWALK_BENCH_SHARED_LINES_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "bench/shared_lines/replay.h"

namespace nfswalk::bench {

struct SharedLinesOptions {
  std::vector<icache::InodePolicy> policies;
  std::vector<Workload> workloads;
  std::vector<size_t> threads;
  uint64_t files_per_thread;
  uint64_t buckets_per_file;
  size_t places;          // of code to be printed for each replay
  std::string json_file;  // empty: none
};

// An exit code if there is nothing to run: 0 after --help, 2 after bad arguments, explained on
// stderr.
std::variant<SharedLinesOptions, int> ParseSharedLinesOptions(int argc, char** argv);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_SHARED_LINES_OPTIONS_H_
