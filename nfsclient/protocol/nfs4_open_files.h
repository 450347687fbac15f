// nfs4_open_files: the files that are open on the server, and how they are opened again when it has
// forgotten them (RFC 7530 9.6).
//
// After a restart of the server every file is first reclaimed by its handle (CLAIM_PREVIOUS); only
// then those that the server would not give back are opened by name, since that has to wait for the
// end of the grace period, after which nothing can be reclaimed. A file that the server will not
// open again, or that is another one by now, is lost for good.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_FILES_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_FILES_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <unordered_set>
#include <vector>

#include "nfsclient/protocol/nfs4_open_acquire.h"
#include "nfsclient/protocol/nfs4_open_owner.h"
#include "nfsclient/protocol/nfs4_state.h"
#include "nfsclient/protocol/nfs4_state_error.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

// Lock order: `busy` before `mutex`.
struct OpenFile {
  // What a READ or WRITE needs, and what became of it.
  struct State {
    StateId id;
    uint64_t generation = 0;  // of the client id that it belongs to
    bool lost = false;        // cannot be opened again
    // When it was opened again, if it was.
    std::chrono::steady_clock::time_point reopened = {};
  };

  State Now() const {
    const std::lock_guard lock(mutex);
    return state;
  }
  void Become(const State& later) {
    const std::lock_guard lock(mutex);
    state = later;
  }

  // How to open it again.
  FileHandle directory;
  std::string name;
  bool read = false;
  bool write = false;
  Credential credential;
  FileHandle handle;

  // Held while the file is opened again or closed.
  std::mutex busy;
  OpenOwner owner;      // guarded by busy
  bool closed = false;  // guarded by busy

  mutable std::mutex mutex;
  State state;  // guarded by mutex
};

class OpenFiles {
 public:
  struct Reopened {
    // There was no answer, or none that parses: the file may be tried again.
    std::errc error{};
    // kServerRestart, kLeaseExpired: the client id is gone, so nothing was done; else kNone.
    StateError trouble = StateError::kNone;
  };

  // `acquirer` outlives it.
  explicit OpenFiles(OpenAcquirer& acquirer) : acquirer_(acquirer) {}

  void Add(std::shared_ptr<OpenFile> file);
  void Remove(const std::shared_ptr<OpenFile>& file);

  // Opens again what was opened under earlier clients than `client`. Ends early where the budget
  // does; what is left over is for Reopen(). Returns trouble with `client` itself, else kNone.
  StateError ReopenAll(const LiveClient& client, RpcCaller::Budget& budget);
  // Opens `file` again unless its state is not `used` any more.
  Reopened Reopen(OpenFile& file, const StateId& used, const LiveClient& client,
                  RpcCaller::Budget& budget);

 private:
  enum class By : uint8_t { kHandle, kName };

  std::vector<std::shared_ptr<OpenFile>> OpenedBefore(uint64_t generation);
  bool MayReclaim(const LiveClient& client) const;
  Reopened OpenAgain(By by, OpenFile& file, const StateId& used, const LiveClient& client,
                     RpcCaller::Budget& budget);
  void Settle(By by, OpenFile& file, Acquired acquired, const LiveClient& client,
              RpcCaller::Budget& budget);

  OpenAcquirer& acquirer_;
  // The last client for which the server said that the time to reclaim is over.
  std::atomic<uint64_t> reclaimed_generation_{0};
  std::mutex mutex_;
  std::unordered_set<std::shared_ptr<OpenFile>> files_;  // guarded by mutex_
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_FILES_H_
