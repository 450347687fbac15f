// cold_subject: what takes turns in cold_walk.
#ifndef NFSWALK_BENCH_COLD_WALK_COLD_SUBJECT_H_
#define NFSWALK_BENCH_COLD_WALK_COLD_SUBJECT_H_

#include <atomic>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace nfswalk::bench {

// How the tree is walked.
enum class ColdMode : uint8_t {
  kPath,  // stat of every file, in random order
  kFind,  // every directory is listed, breadth and depth as they come
  kDeep,  // stat of the one file at depth 8
};
constexpr std::string_view NameOf(ColdMode mode) {
  switch (mode) {
    case ColdMode::kPath:
      return "path";
    case ColdMode::kFind:
      return "find";
    case ColdMode::kDeep:
      return "deep";
  }
  return "";
}

// Of which kind a turn is. Rows with the same key are repetitions of each other.
struct ColdKey {
  std::string subject;
  int version = 3;
  ColdMode mode = ColdMode::kPath;
  size_t threads = 1;

  friend bool operator==(const ColdKey&, const ColdKey&) = default;
};

struct ColdTurn {
  uint64_t files = 0;
  uint64_t rpcs = 0;
  double seconds = 0;
};

class ColdSubject {
 public:
  virtual ~ColdSubject() = default;
  virtual const ColdKey& key() const = 0;
  // One walk with caches that are empty. May end early, with less, once `stop` is set. The error is
  // a sentence.
  virtual std::expected<ColdTurn, std::string> Run(const std::atomic<bool>& stop) = 0;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_COLD_SUBJECT_H_
