// churn: changes elsewhere in a mount, so many a second, made by one thread while others stat files
// that none of them concerns.
#ifndef NFSWALK_BENCH_WARM_STAT_CHURN_H_
#define NFSWALK_BENCH_WARM_STAT_CHURN_H_

#include <atomic>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <thread>

#include "bench/measure/file_tree.h"
#include "bench/measure/outcome.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

enum class ChurnKind : uint8_t {
  kNone,
  kFiles,         // a file is created, or unlinked
  kDirectories,   // a directory is made; searched, by the next of 64 users; removed
  kRenames,       // a directory with a file in it is renamed
  kEvictions,     // the next of 4096 directories is searched, in a mount that is full
  kOtherClients,  // another client makes a directory, which is listed and searched; or removes it
};
inline constexpr ChurnKind kChurnKinds[] = {ChurnKind::kNone,        ChurnKind::kFiles,
                                            ChurnKind::kDirectories, ChurnKind::kRenames,
                                            ChurnKind::kEvictions,   ChurnKind::kOtherClients};

// "directories".
std::string_view ChurnName(ChurnKind kind);

// Adds the directory "elsewhere", where all changes are made.
void AddElsewhere(FileTree& tree);
// Searches as many directories as kEvictions does with so many changes.
std::errc Scan(Client& client, uint64_t directories);

class Churn {
 public:
  // Begins to make `changes_per_s`, all in the mount `client` but for those of another client, made
  // through `other`, which has mounted the same directory and outlives this, too. `scanned`: the
  // directories that were searched in the mount before.
  Churn(ChurnKind kind, Client& client, Client& other, uint64_t changes_per_s, uint64_t scanned);
  ~Churn() { (void)Stop(); }
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;

  // Makes changes until all is as it was before, then ends. The error is the first that a call
  // ended in.
  Outcome Stop();
  // So far; not 0 after Stop(), without an error. A server that cannot keep up makes them fewer.
  uint64_t changes() const { return changes_.load(); }

 private:
  void Run();
  // One change, the `number`-th of this object.
  std::errc Make(uint64_t number);
  std::errc ChangeFile(uint64_t number);
  std::errc ChangeDirectory(uint64_t number);
  std::errc ChangeFromOutside(uint64_t number);

  const ChurnKind kind_;
  Client& client_;
  Client& other_;
  const uint64_t changes_per_s_;
  const uint64_t scanned_;
  std::atomic<uint64_t> changes_{0};
  std::atomic<bool> stopped_{false};
  Outcome outcome_;
  std::jthread thread_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_CHURN_H_
