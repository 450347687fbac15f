// cache_sizes: how many files memory caches, and whether they fit in the machine.
#ifndef NFSWALK_BENCH_MEMORY_CACHE_SIZES_H_
#define NFSWALK_BENCH_MEMORY_CACHE_SIZES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "bench/measure/outcome.h"

namespace nfswalk::bench {

inline constexpr uint64_t kSmallestCache = 1000;

// Files of the caches in which a warm stat is timed: 1000, 10,000 ... files_max.
std::vector<uint64_t> CacheSizes(uint64_t files_max);
// Numbers of files at which the growth of a process is measured: 100,000 and 1,000,000, or
// files_max if that is less than both.
std::vector<uint64_t> GrowthSizes(uint64_t files_max);

// Whether caches of these numbers of files, all at the same time, fit in what is available; the
// error names a largest cache that does.
Outcome CheckMemoryFor(std::span<const uint64_t> cache_sizes, uint64_t available_bytes);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_CACHE_SIZES_H_
