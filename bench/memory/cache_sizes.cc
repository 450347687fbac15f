#include "bench/memory/cache_sizes.h"

#include <numeric>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kGrowthSizes[] = {100'000, 1'000'000};
// More than a cached file takes. Part of what is available is left to others: a machine that swaps,
// or that kills processes, measures nothing.
constexpr uint64_t kBytesPerFile = 800;
constexpr uint64_t kUsableOf10 = 8;
constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

}  // namespace

std::vector<uint64_t> CacheSizes(uint64_t files_max) {
  std::vector<uint64_t> sizes;
  for (uint64_t files = kSmallestCache; files < files_max; files *= 10) sizes.push_back(files);
  sizes.push_back(files_max);
  return sizes;
}

std::vector<uint64_t> GrowthSizes(uint64_t files_max) {
  std::vector<uint64_t> sizes;
  for (const uint64_t files : kGrowthSizes) {
    if (files <= files_max) sizes.push_back(files);
  }
  if (sizes.empty()) sizes.push_back(files_max);
  return sizes;
}

Outcome CheckMemoryFor(std::span<const uint64_t> cache_sizes, uint64_t available_bytes) {
  const uint64_t files = std::accumulate(cache_sizes.begin(), cache_sizes.end(), uint64_t{0});
  const uint64_t usable_bytes = available_bytes / 10 * kUsableOf10;
  const uint64_t needed_bytes = files * kBytesPerFile;
  if (needed_bytes <= usable_bytes) return {};
  return std::unexpected(fmt::format(
      "caches of {} files together, the largest of {}, need about {:.1f} GiB, and only {:.1f} of "
      "the {:.1f} GiB that are available may be used: try --files-max {}",
      files, cache_sizes.back(), static_cast<double>(needed_bytes) / kGibibyte,
      static_cast<double>(usable_bytes) / kGibibyte,
      static_cast<double>(available_bytes) / kGibibyte, usable_bytes / kBytesPerFile / 2));
}

}  // namespace nfswalk::bench
