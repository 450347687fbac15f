// pattern: which paths a row of warm_stat asks for, and in which order.
#ifndef NFSWALK_BENCH_WARM_STAT_PATTERN_H_
#define NFSWALK_BENCH_WARM_STAT_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nfswalk::bench {

enum class Pattern : uint8_t {
  kDistinct,       // every file of a small tree in turn
  kSameFile,       // one file
  kSameDirectory,  // every file of one directory in turn
  kRandom,         // every file of a large tree, in an order that no prefetcher guesses
  kNegative,       // names that are not there, in the directories of kDistinct
  kLinks,          // the files of kDistinct by way of a symbolic link
};
inline constexpr size_t kPatterns = 6;

constexpr std::string_view NameOf(Pattern pattern) {
  constexpr std::string_view kNames[kPatterns] = {"distinct", "same-file", "same-directory",
                                                  "random",   "negative",  "links"};
  return kNames[static_cast<size_t>(pattern)];
}

// One list of paths: a pattern, and how many names each of its paths has.
struct Course {
  Pattern pattern = Pattern::kDistinct;
  size_t depth = 8;

  friend auto operator<=>(const Course&, const Course&) = default;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_PATTERN_H_
