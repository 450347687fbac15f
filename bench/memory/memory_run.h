// memory_run: one run of memory: the processes that grow, then the caches that take turns.
#ifndef NFSWALK_BENCH_MEMORY_MEMORY_RUN_H_
#define NFSWALK_BENCH_MEMORY_MEMORY_RUN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/measure/outcome.h"

namespace nfswalk::bench {

struct MemoryOptions {
  uint64_t files_max = 10'000'000;
  std::vector<uint64_t> hot_files = {1000, 4096};
  size_t repetitions = 7;
  uint64_t turn_ms = 60;
  std::string json_file = {};  // empty: stdout
};

// Rows of two kinds: "bytes", with names, files, bytes_per_file, bytes_min, bytes_max; and "cost",
// of a warm stat of `hot` files in a cache of `entries`, with what AddTiming() says. An answer that
// is not the tree's is an error, and so is a warm stat that sent an RPC. After an interrupt it ends
// early with the rows so far. Preconditions: the calling process has one thread.
Outcome RunMemory(const MemoryOptions& options);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_MEMORY_RUN_H_
