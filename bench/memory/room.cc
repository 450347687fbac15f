#include "bench/memory/room.h"

#include <fstream>
#include <numeric>
#include <sstream>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

// More than a cached file takes. Part of what is available is left to others: a machine that swaps,
// or that ends processes, measures nothing.
constexpr uint64_t kBytesPerFile = 800;
constexpr uint64_t kUsableOf10 = 8;
constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

}  // namespace

std::expected<uint64_t, std::string> AvailableBytesIn(const std::string& meminfo) {
  constexpr uint64_t kKilobyte = 1024;
  std::istringstream lines(meminfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, unit;
    uint64_t count = 0;
    if (words >> name >> count >> unit && name == "MemAvailable:" && unit == "kB") {
      return count * kKilobyte;
    }
  }
  return std::unexpected("/proc/meminfo does not say how much memory is available");
}

std::expected<uint64_t, std::string> AvailableBytes() {
  const std::ifstream file("/proc/meminfo");
  std::ostringstream text;
  text << file.rdbuf();
  return AvailableBytesIn(text.str());
}

std::string NoRoomFor(std::span<const uint64_t> cache_sizes, uint64_t available_bytes) {
  const uint64_t files = std::accumulate(cache_sizes.begin(), cache_sizes.end(), uint64_t{0});
  const uint64_t usable_bytes = available_bytes / 10 * kUsableOf10;
  const uint64_t needed_bytes = files * kBytesPerFile;
  if (needed_bytes <= usable_bytes) return {};
  return fmt::format(
      "caches of {} files together, the largest of {}, need about {:.1f} GiB, and only {:.1f} of "
      "the {:.1f} GiB that are available may be used: try --files-max {}",
      files, cache_sizes.back(), static_cast<double>(needed_bytes) / kGibibyte,
      static_cast<double>(usable_bytes) / kGibibyte,
      static_cast<double>(available_bytes) / kGibibyte, usable_bytes / kBytesPerFile / 2);
}

}  // namespace nfswalk::bench
