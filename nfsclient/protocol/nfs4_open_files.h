// nfs4_open_files: the set of files open on the server, and their recovery (RFC 7530 9.6).
//
// After a restart of the server all files are first reclaimed by handle (CLAIM_PREVIOUS); then
// those refused are opened by name (CLAIM_NULL), which waits for the end of the grace period, after
// which nothing can be reclaimed. A file that cannot be reopened, or whose name leads to another
// file, is lost for good.
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

// Lock order: `reopen_mutex` before `mutex`.
struct OpenFile {
  // What READ and WRITE use.
  struct State {
    StateId id;
    uint64_t generation = 0;  // of its client id
    bool lost = false;        // cannot be reopened
    // Time of the last reopening, if any.
    std::chrono::steady_clock::time_point reopened = {};
  };

  State CurrentState() const {
    const std::lock_guard lock(mutex);
    return state;
  }
  void SetState(const State& later) {
    const std::lock_guard lock(mutex);
    state = later;
  }

  // What the file is reopened with. Constant once it is in OpenFiles.
  FileHandle directory;
  std::string name;
  bool read = false;
  bool write = false;
  Credential credential;
  FileHandle handle;

  // Held while the file is reopened or closed.
  std::mutex reopen_mutex;
  OpenOwner owner;      // guarded by reopen_mutex
  bool closed = false;  // guarded by reopen_mutex

  mutable std::mutex mutex;
  State state;  // guarded by mutex
};

class OpenFiles {
 public:
  struct Reopened {
    // No reply, or a malformed one: may be retried.
    std::errc error{};
    // kServerRestart, kLeaseExpired: the client id is gone, nothing was done. Else kNone.
    StateError state_error = StateError::kNone;
  };

  // `acquirer` must outlive it.
  explicit OpenFiles(OpenAcquirer& acquirer) : acquirer_(acquirer) {}

  void Add(std::shared_ptr<OpenFile> file);
  void Remove(const std::shared_ptr<OpenFile>& file);

  // Reopens all files of earlier client ids under `client`. Stops where the budget ends and leaves
  // the rest to Reopen(). Returns kServerRestart or kLeaseExpired if `client` is gone, else kNone.
  StateError ReopenAll(const LiveClient& client, RpcCaller::Budget& budget);
  // Reopens `file` if its state id is still `used`.
  Reopened Reopen(OpenFile& file, const StateId& used, const LiveClient& client,
                  RpcCaller::Budget& budget);

 private:
  enum class Claim : uint8_t { kPrevious, kNull };

  std::vector<std::shared_ptr<OpenFile>> OpenedBefore(uint64_t generation);
  bool MayReclaim(const LiveClient& client) const;
  Reopened ReopenByClaim(Claim claim, OpenFile& file, const StateId& used, const LiveClient& client,
                         RpcCaller::Budget& budget);
  void StoreResult(Claim claim, OpenFile& file, Acquired acquired, const LiveClient& client,
                   RpcCaller::Budget& budget);

  OpenAcquirer& acquirer_;
  // Generation of the last client id for which the server answered NO_GRACE.
  std::atomic<uint64_t> reclaimed_generation_{0};
  std::mutex mutex_;
  std::unordered_set<std::shared_ptr<OpenFile>> files_;  // guarded by mutex_
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_FILES_H_
