// open_file: a file open on the server.
//
// Thread safety: as marked.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_FILE_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_FILE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "nfsclient/nfs4/state/open_owners.h"
#include "nfsclient/nfs4/state/timed_mutex.h"
#include "nfsclient/nfs4/state_id.h"
#include "nfsclient/protocol/file_names.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

// Lock order: `reopening`, LockOwner::calling (lock_owners.h), `mutex`.
struct OpenFile : std::enable_shared_from_this<OpenFile> {
  using Clock = std::chrono::steady_clock;

  // The state that READ and WRITE use.
  struct State {
    StateId id;
    uint64_t generation = 0;  // of its client id
    bool lost = false;        // cannot be reopened
    // Time of the last reopening, if any.
    Clock::time_point reopened = {};
  };

  State CurrentState() const {
    const std::lock_guard lock(mutex);
    return state;
  }
  void SetState(const State& later) {
    const std::lock_guard lock(mutex);
    state = later;
  }

  // The name that the file has now, or none if it has no other than those `tried`, or is closed.
  std::optional<FileName> NextName(std::span<const FileName> tried) const {
    const std::lock_guard lock(naming);
    return names == nullptr ? std::nullopt : names->NextName(tried);
  }
  bool NamesAreChanging() const {
    const std::lock_guard lock(naming);
    return names != nullptr && names->AreChanging();
  }
  // Returns once no thread asks for the earlier ones.
  void SetNames(std::unique_ptr<FileNames> later) {
    const std::lock_guard lock(naming);
    names.swap(later);
  }

  // The access with which the file is reopened. Constant once it is in files_.
  bool read = false;
  bool write = false;
  Credential credential;
  FileHandle handle;

  // Held while the file is reopened or closed. The thread that has reopened a file that is `closed`
  // by then closes it.
  TimedMutex reopening;
  OpenOwner owner;                // guarded by reopening
  bool closed_on_server = false;  // guarded by reopening; or need not be closed there
  std::atomic<bool> closed{false};
  // The generation of the last client id under which the server has said whether it is reclaimed.
  std::atomic<uint64_t> reclaim_answered{0};

  // A lock-owner's first LOCK has used the open-owner's sequence and got no reply. Guarded by
  // reopening.
  bool first_lock_unanswered = false;
  // Lock-owners whose locks the server has dropped.
  std::atomic<size_t> lost_lock_owners{0};

  mutable std::mutex naming;
  std::unique_ptr<FileNames> names;  // guarded by naming; null: closed, or opened by handle

  mutable std::mutex mutex;
  State state;  // guarded by mutex
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_FILE_H_
