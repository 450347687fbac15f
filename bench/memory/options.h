// options: what memory is told on its command line.
#ifndef NFSWALK_BENCH_MEMORY_OPTIONS_H_
#define NFSWALK_BENCH_MEMORY_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace nfswalk::bench {

struct MemoryOptions {
  uint64_t files_max = 10'000'000;
  std::vector<uint64_t> hot_files = {1000, 4096};
  size_t repetitions = 7;
  uint64_t turn_ms = 60;
  std::string json_file = {};  // empty: none
};

// An exit code if there is nothing to run: 0 after --help, 2 after bad arguments, explained on
// stderr.
std::variant<MemoryOptions, int> ParseMemoryOptions(int argc, char** argv);

// How many files the caches hold in which a warm stat is timed: 1000, 10,000 ... files_max.
std::vector<uint64_t> CacheSizes(const MemoryOptions& options);
// At how many files the growth of the process is measured: 100,000 and 1,000,000, or files_max if
// it is less than both.
std::vector<uint64_t> GrowthSizes(const MemoryOptions& options);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_OPTIONS_H_
