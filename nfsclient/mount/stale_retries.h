// stale_retries: what was answered with ESTALE, so that the VFS walks the path again with
// LOOKUP_REVAL, which sends a LOOKUP of each name, and makes the request once more, unless the
// LOOKUP has shown what to answer; by thread. The VFS does so once. All callers of other PID
// namespaces have 0, and are answered otherwise.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_STALE_RETRIES_H_
#define NFSWALK_NFSCLIENT_MOUNT_STALE_RETRIES_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk::mount {

// A walk looks a name up in d_revalidate() and, where that finds another file, in lookup().
inline constexpr int kLookupsOfWalk = 2;

// Changes of names which the kernel has another file of than the server, or another kind of file.
class NameRetries {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMax = 1024;
  // A thread comes back at once, if at all.
  static constexpr std::chrono::seconds kKept{2};

  // Which LOOKUP the thread comes back after: the VFS makes what is missing, and removes what is
  // there; any other it answers itself.
  enum class After : uint8_t { kMissing, kFound, kEither };

  // True, and noted, unless it was noted; then it is no longer.
  bool MayAskAgain(pid_t caller, uint64_t directory, std::string_view name, After after,
                   Clock::time_point now = Clock::now());
  // The thread looks the name up before it comes back, and once more if that was news to the kernel.
  // Any further LOOKUP is of another call: the one before has ended what was noted.
  void NoteLookup(pid_t caller, uint64_t directory, std::string_view name, bool is_found);
  // Forgets a retry that has been done, or is to be done now. Returns whether it was noted.
  bool End(pid_t caller, uint64_t directory, std::string_view name,
           Clock::time_point now = Clock::now());

 private:
  using Change = std::tuple<pid_t, uint64_t, std::string>;
  struct Asked {
    Clock::time_point since;
    After after;
    int lookups = 0;
  };

  std::mutex mutex_;
  std::map<Change, Asked> changes_;  // guarded by mutex_
  std::atomic<size_t> count_{0};     // of changes_: most requests find none
};

// Opens. The file might be replaced again when the VFS comes back: the LOOKUP before its second
// OPEN opens the file, so that it can be had even so.
//
// Nothing says that an OPEN belongs to the same open(2): the kernel may end one after the LOOKUP,
// and the thread begin another. So a retry is one of the same thread for the same rights by the
// same credential, and its file is the last resort, where the server refuses the node.
class OpenRetries {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMax = 1024;
  // For how long a file is open for a thread, which comes back at once, if at all.
  static constexpr std::chrono::seconds kKept{2};

  explicit OpenRetries(Clock::duration kept = kKept) : kept_(kept) {}
  OpenRetries(const OpenRetries&) = delete;
  OpenRetries& operator=(const OpenRetries&) = delete;

  // An open for these rights is answered with ESTALE.
  void Add(pid_t caller, uint32_t rights, const Credential& credential,
           Clock::time_point now = Clock::now());
  // The rights of the open that this LOOKUP of a file precedes; nullopt if it precedes none.
  std::optional<uint32_t> RightsOf(pid_t caller, const Credential& credential);
  void Keep(pid_t caller, const NodeId& node, std::unique_ptr<File> file);

  struct Retry {
    Clock::time_point since;     // when the open before this one was answered so
    std::unique_ptr<File> file;  // null: not opened, or too long ago
  };
  // nullopt for an open that is none of these. Ends it.
  std::optional<Retry> Take(pid_t caller, uint32_t rights, const Credential& credential,
                            const NodeId& node, Clock::time_point now = Clock::now());
  // A LOOKUP of the walk finds nothing. Another one follows where that is news to the kernel; after
  // it the walk ends, and with it what is kept.
  void NoteMiss(pid_t caller);
  bool Has(pid_t caller);
  // Destroys all. Preconditions: no request is in progress.
  void Clear();

 private:
  struct Open {
    uint32_t rights;
    Credential credential;
    Clock::time_point since;
    NodeId node = {};
    std::unique_ptr<File> file = nullptr;
    int misses = 0;
  };
  // No longer expected. Its file is closed where the result ends: without the mutex.
  std::map<pid_t, Open>::node_type Extract(pid_t caller);
  std::unique_ptr<File> TakeLate(Clock::time_point& next);
  // Closes files that no thread came for, until it is stopped.
  void CloseLate(const std::stop_token& stop);

  const Clock::duration kept_;
  std::mutex mutex_;
  std::map<pid_t, Open> opens_;                   // guarded by mutex_
  std::vector<std::unique_ptr<File>> abandoned_;  // guarded by mutex_; closed by closer_
  std::atomic<size_t> count_{0};                  // of opens_: most requests find none
  bool has_file_ = false;                         // since closer_ looked; guarded by mutex_
  std::condition_variable_any changed_;
  std::jthread closer_;                           // since the first file; guarded by mutex_
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_STALE_RETRIES_H_
