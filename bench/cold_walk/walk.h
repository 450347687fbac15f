// walk: how a tree is walked, by any client.
#ifndef NFSWALK_BENCH_COLD_WALK_WALK_H_
#define NFSWALK_BENCH_COLD_WALK_WALK_H_

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cold_walk/cold_tree.h"
#include "bench/measure/outcome.h"
#include "bench/measure/turns.h"

namespace nfswalk::bench {

enum class WalkKind : uint8_t {
  kPath,     // stat of every file, in random order
  kExpired,  // the same, where all is cached and has timed out
  kFind,     // every directory is listed, breadth and depth as they come
  kDeep,     // stat of the one file at depth 8
  kLarge,    // stat of one in kLargeOneIn files of the large directory, in random order
  kBatch,    // the same files as kPath, by one call of a batch
  kChanges,  // no walk: one name is made and removed in a warm directory at depth 8
};
constexpr std::string_view NameOf(WalkKind kind) {
  constexpr std::string_view kNames[] = {"path",  "expired", "find",         "deep",
                                         "large", "batch",   "create+unlink"};
  return kNames[static_cast<size_t>(kind)];
}

// Called for each entry of a directory but "." and "..".
using EntryFound = std::function<void(std::string_view name, bool is_directory)>;

// The calls of one thread.
class WalkCalls {
 public:
  virtual ~WalkCalls() = default;
  // An error also where `path` is no regular file.
  virtual Outcome Stat(const std::string& path) = 0;
  // With the attributes of every entry.
  virtual Outcome List(const std::string& directory, const EntryFound& found) = 0;
};

// Listings ahead are made at the first files.
inline constexpr uint64_t kLargeOneIn = 10;

// Files that a whole walk meets, or pairs of changes.
uint64_t FilesOf(WalkKind kind, const ColdTree& tree, uint64_t one_in);

// Sets longest_s and p999_s, or leaves what is more. `took_s`: of each operation; not empty.
void AddLongest(Turn& turn, std::vector<double> took_s);

// Preconditions: `kind` is neither kBatch nor kChanges. Walks `tree` by as many threads as there
// are `calls`, which may run on any processor: the server needs them too. A walk by path looks at
// one in `one_in` files. `server`: as for MachineShare. A walk that met another number of files
// than FilesOf() is an error, unless an interrupt ended it.
std::expected<Turn, std::string> Walk(WalkKind kind, const ColdTree& tree, uint64_t one_in,
                                      std::span<const std::unique_ptr<WalkCalls>> calls,
                                      pid_t server);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_WALK_H_
