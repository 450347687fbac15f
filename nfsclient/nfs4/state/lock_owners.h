// lock_owners: lock-owners, and LOCK, LOCKU and RELEASE_LOCKOWNER by them (RFC 7530 9.1.3, 9.1.4,
// 9.1.7, 16.10, 16.12, 16.37).
//
// A lock-owner is there for an owner of the caller's and a file, from its first LOCK on. It belongs
// to the open file whose open-owner that named, and goes with it, or where that has more than
// kIdleMax without locks. Its name is not used again.
//
// Its calls follow each other with sequence numbers, the first one with the open-owner's too. One
// that got no reply may have been executed: it is sent again, with its numbers, before the next
// (RFC 7530 9.1.9), and what a LOCK has changed is undone then, as its caller was told that it
// failed. It is sent again with a type that weakens no lock that is held.
//
// Thread safety: LockOwners: all functions; those that take a LockOwner need its turn.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_LOCK_OWNERS_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_LOCK_OWNERS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/state/open_file.h"
#include "nfsclient/nfs4/state/timed_mutex.h"
#include "nfsclient/nfs4/state_id.h"
#include "nfsclient/protocol/byte_range.h"
#include "nfsclient/protocol/locked_ranges.h"
#include "nfsclient/rpc/caller.h"

namespace nfswalk::protocol {

struct LockCall {
  enum class Kind : uint8_t { kLock, kReclaim, kUnlock };
  Kind kind;
  RangeLock lock;  // kUnlock: of either type
};

// nfs4_lock_state.
struct LockOwner {
  LockOwner(std::shared_ptr<OpenFile> of, uint64_t owner) : file(std::move(of)), number(owner) {}

  const std::shared_ptr<OpenFile> file;
  const uint64_t number;  // the caller's
  std::atomic<bool> was_given_up{false};  // a call of it, which may not be settled yet

  TimedMutex calling;  // guards what follows
  std::string name = {};
  uint32_t sequence = 0;  // of the next call
  bool known = false;     // to the server, as `state`
  StateId state = {};
  LockedRanges ranges = {};
  std::optional<LockCall> unanswered = {};
  // Locks that its caller knows to hold, until `ranges` is that again.
  std::optional<LockedRanges> restores = {};
  bool lost = false;     // the server has dropped what `ranges` says (NFS_LOCK_LOST)
  bool retired = false;  // not in the table any more

  bool is_settled() const { return !unanswered && !restores; }
};

// Exclusive use of a lock-owner, and of its open-owner while the server does not know it.
class [[nodiscard]] LockTurn {
 public:
  LockTurn(LockOwner& owner, std::chrono::steady_clock::time_point until)
      : calling_(owner.calling, until) {
    if (!calling_ || owner.known) return;
    calling_.unlock();
    opening_ = Lock(owner.file->reopening, until);
    if (opening_) calling_ = Lock(owner.calling, until);
  }
  // False if the thread's time is over.
  explicit operator bool() const { return calling_.owns_lock(); }

 private:
  using Lock = std::unique_lock<TimedMutex>;
  Lock opening_;
  Lock calling_;
};

class LockOwners {
 public:
  using Budget = rpc::Caller::Budget;

  static constexpr size_t kIdleMax = 16;
  static constexpr size_t kUnfreedMax = 256;

  // By which open-owner, and under which client id, a lock-owner calls. `owner` is used where the
  // server does not know the lock-owner yet.
  struct Opener {
    OpenOwner& owner;
    StateId state;
    uint64_t client_id;
  };
  struct Answer {
    std::errc error{};  // no reply (rpc/retry.h), or a malformed one (io_error)
    int status = 0;     // nfsstat4 if error is errc{}
    std::optional<RangeLock> conflict = {};
  };

  // `caller` must outlive it.
  explicit LockOwners(rpc::Caller& caller) : caller_(caller) {}

  std::shared_ptr<LockOwner> Find(const FileHandle& file, uint64_t number) const;
  std::shared_ptr<LockOwner> FindOrMake(const std::shared_ptr<OpenFile>& file, uint64_t number);
  std::vector<std::shared_ptr<LockOwner>> All() const;
  // The lock owners that belong to `file`.
  std::vector<std::shared_ptr<LockOwner>> Of(const OpenFile& file) const;

  // Sends one call and takes in what it did. Preconditions: !owner.retired.
  Answer Send(LockOwner& owner, const LockCall& call, const Opener& opener, Budget& budget);
  // Settles the call without a reply, if there is one, as far as the server does not delay it;
  // returns why it could not.
  std::errc Settle(LockOwner& owner, const Opener& opener, Budget& budget);
  // Unlocks on the server what was reclaimed by an open file that is given up.
  void GiveBack(LockOwner& owner, const Opener& opener, Budget& budget);
  // Reclaims all that it holds under a new client id. What the server refuses is lost. Returns the
  // status if the client id is gone again or, with OnDelay::kReturn, the server delays it, else
  // NFS4_OK.
  Answer Reclaim(LockOwner& owner, const Opener& opener, OnDelay on_delay, Budget& budget);
  // The server has forgotten it, and all its locks.
  void Lose(LockOwner& owner);
  // The server does not take its state id any more, and may have revoked it.
  void LoseRevoked(LockOwner& owner, Budget& budget);
  // Frees what LoseRevoked() had no answer for; returns whether something is left.
  bool FreeLeft(Budget& budget);
  // Takes `range` from a lock-owner whose locks are lost.
  void Forget(LockOwner& owner, ByteRange range);
  // Tells the server that it is not used any more, and takes it out of the table. Preconditions:
  // nothing is locked. In a COMPOUND of its own: behind LOCKU it corrupts nfs-ganesha's memory
  // (4.3).
  void Release(LockOwner& owner, const Opener& opener, Budget& budget);
  // Takes it out of the table where the server does not know it.
  void RetireIfUnused(LockOwner& owner);
  void Retire(LockOwner& owner);

  std::string NewName() {
    const std::lock_guard lock(mutex_);
    return "nfswalk lock " + std::to_string(next_name_++);
  }

 private:
  using Key = std::pair<std::string, uint64_t>;  // handle, number

  std::errc Restore(LockOwner& owner, const Opener& opener, Budget& budget);

  rpc::Caller& caller_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<LockOwner>> owners_;  // guarded by mutex_
  uint64_t next_name_ = 0;                            // guarded by mutex_
  // Not freed on the server; at most kUnfreedMax. Guarded by mutex_.
  std::vector<std::pair<StateId, Credential>> unfreed_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_LOCK_OWNERS_H_
