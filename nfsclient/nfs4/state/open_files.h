// open_files: the files open on a server, and their recovery (RFC 7530 9).
//
// In version 4.0 nothing is sent before the first Open(): a client without open files has no client
// id and no lease (lease.h). In sessions Establish() makes both at the mount. When the client id is
// gone (STALE_CLIENTID after a restart of the server, EXPIRED after a partition) a new one is
// established and every file is reopened: after a restart all are first reclaimed by handle
// (CLAIM_PREVIOUS); then those refused are opened anew: in sessions by handle (CLAIM_FH), else by
// the names that they have at that time (file_names.h, CLAIM_NULL). That waits for the end of the
// grace period, after which nothing can be reclaimed. One that the server delays does not hold up
// the others. A file that cannot be reopened, because it is gone or its names lead to others, is
// lost: it fails with io_error from then on (RFC 7530 9.6.3). There are as many owners as files
// open at once (open_owners.h).
//
// Locks are reclaimed with their file, before anything else uses it. Where it is opened anew
// they are lost, as another client may have had them meanwhile: reads, writes and locks of the file
// fail with io_error until their owner has unlocked them (NFS_LOCK_LOST of the kernel). So are
// those that the server refuses to give back.
//
// Thread safety: all functions; those that take one OpenState also at once. Destroying an
// OpenState needs exclusive access to it.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_FILES_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_FILES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <vector>

#include "nfsclient/nfs4/owner_names.h"
#include "nfsclient/nfs4/state/delegations.h"
#include "nfsclient/nfs4/state/lease.h"
#include "nfsclient/nfs4/state/lock_owners.h"
#include "nfsclient/nfs4/state/open_file.h"
#include "nfsclient/nfs4/state/open_owners.h"
#include "nfsclient/nfs4/state/state_error.h"
#include "nfsclient/nfs4/state_id.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/rpc/caller.h"

namespace nfswalk::protocol {

// In a shared_ptr: every OpenState shares it.
class OpenFiles : public std::enable_shared_from_this<OpenFiles> {
 public:
  using Budget = rpc::Caller::Budget;

  // The arguments of Open(). An empty `name`: `at` is the file, where can_open_by_handle().
  struct Request {
    FileHandle at;
    std::string_view name;
    bool read = false;
    bool write = false;
    OpenArguments::How how = OpenArguments::How::kNoCreate;
    SetAttributes attributes = {};  // these two as in OpenArguments
    uint64_t exclusive_verifier = 0;
    AskDelegation ask = AskDelegation::kNo;  // for a delegation, where the server can call
  };
  struct Opened {
    std::errc error{};
    FileHandle handle;
    OptionalAttributes attributes;
    uint64_t attributes_set = 0;      // as in OpenGrant
    std::optional<uint32_t> granted;  // as in OpenReply
    WeakCacheConsistency directory;
    std::unique_ptr<OpenState> state;  // closes when destroyed
    std::unique_ptr<Delegation> delegation = {};
  };

  // `caller` and `names` must outlive it, unless Shutdown() was called and the lease ended.
  OpenFiles(rpc::Caller& caller, const OwnerNames& names);

  // Gets the client id at once, and the session with it; else the first Open() does. Errors: those
  // of Lease::Client().
  std::errc Establish(Budget& budget);
  CompoundLimits limits() const { return lease_.limits(); }
  // As Lease::Discard().
  void Discard(Budget& budget) { lease_.Discard(budget); }
  // False without sessions, and once the server has refused to.
  bool can_open_by_handle() const { return opens_by_handle_.load(); }
  // Opens or creates a file. `budget`: time left to the operation (rpc/retry.h).
  Opened Open(const Request& request, const Credential& credential, Budget& budget);

  // Returns the state id for READ, WRITE and SETATTR; of null, the anonymous one.
  static StateId StateOf(const OpenState* state);
  // Recovers from the `status` (nfsstat4) of a READ, WRITE or SETATTR with the state id `used`.
  // Returns errc{} once the file is reopened, by this or another thread: repeat with a new
  // StateOf(). Else returns the error to report: that of the recovery, or the errno of a status
  // that is not about state.
  std::errc Recover(const OpenState* state, const StateId& used, int status, Budget& budget);
  // Does the same for a call with two state ids, of which `status` does not say which it is about.
  // Preconditions: in a session.
  struct UsedState {
    const OpenState* state;
    StateId used;
  };
  std::errc RecoverEither(const UsedState& one, const UsedState& other, int status, Budget& budget);

  // Byte-range locks, as in protocol.h.
  LockReply Lock(const OpenState& state, uint64_t owner, const RangeLock& wanted, Budget& budget);
  std::errc Unlock(const OpenState& state, uint64_t owner, ByteRange range, Budget& budget);
  std::errc ReleaseLocks(const OpenState& state, uint64_t owner, Budget& budget);
  LockReply TestLock(const OpenState& state, uint64_t owner, const RangeLock& wanted,
                     Budget& budget);
  // Returns whether a lock is lost that was made by this open file. False of null.
  static bool HasLostLocks(const OpenState* state);
  // As in protocol.h.
  std::errc ConfirmLocks(const OpenState& state, Budget& budget);

  // Ends the lease; from now on nothing is closed. Does not block.
  void Shutdown();
  uint64_t delegations_until_ns() const { return lease_.trusted_until_ns(); }
  DelegationStats delegation_stats() const { return delegations_->stats(); }
  // Whether a directory's delegation is to be asked for, and the server could recall it.
  bool wants_directory() { return delegations_->WantsDirectory() && lease_.can_be_called(); }
  // As Delegations::epoch() and Take(), of a directory's.
  uint64_t delegation_epoch() const { return delegations_->epoch(); }
  std::unique_ptr<Delegation> TakeDelegation(const std::optional<DelegationGrant>& grant,
                                             uint64_t epoch, const FileHandle& directory,
                                             const Credential& credential);
  // Joins the thread that renews. Preconditions: no call is in progress. An OpenState that is left
  // still closes, but its lease is no longer renewed.
  void EndLease() { lease_.End(); }

 private:
  class State;
  using Claim = OpenArguments::Claim;
  enum class Reopening : uint8_t {
    kReclaim,  // CLAIM_PREVIOUS
    kAnew,     // by handle, or by name
  };
  struct Reopened {
    // No reply, or a malformed one: may be retried.
    std::errc error{};
    // kServerRestart, kLeaseExpired: the client id is gone, nothing was done. kWait: nothing was
    // done yet, with OnDelay::kReturn. Else kNone.
    StateError state_error = StateError::kNone;
  };

  // The outcome of one LOCK or LOCKU.
  struct LockAttempt {
    std::errc error{};
    std::optional<RangeLock> conflict = {};
    // kNone: it has ended. kWait: again after a pause. Else: again once the lock-owner's open file
    // is recovered.
    StateError state_error = StateError::kNone;
    bool retired = false;  // again, with another lock-owner
    bool is_unanswered = false;  // to be settled
    std::optional<StateId> expired_lock = {};  // of the lock-owner
    StateId used = {};     // of the open file
  };

  static const std::shared_ptr<OpenFile>& FileOf(const OpenState& state);
  template <typename Find, typename Try>
  LockAttempt RepeatLockCall(Budget& budget, Find find, Try attempt);
  LockAttempt TryLock(LockOwner& owner, const RangeLock& wanted, Budget& budget);
  LockAttempt TryUnlock(LockOwner& owner, ByteRange range, bool release, Budget& budget);
  bool BeginLockCall(LockOwner& owner, LockAttempt& attempt, Budget& budget);
  Reopened RecoverLocks(Reopening how, OpenFile& file, Acquired& opened, const LiveClient& client,
                        OnDelay on_delay, Budget& budget);
  bool ReleaseLocksOf(OpenFile& file, Budget& budget);
  std::unique_ptr<OpenState> Register(const Request& request, const Credential& credential,
                                      uint64_t generation, Acquired acquired);
  void Close(const std::shared_ptr<OpenFile>& file);
  void CloseOnServer(OpenFile& file, Budget& budget);
  bool TryCloseOnServer(OpenFile& file, Budget& budget);

  std::errc RecoverFile(OpenFile& file, const StateId& used, StateError state_error,
                        Budget& budget);
  Lease::Recovery RecoverAll(const LiveClient& client, Budget& budget);
  Lease::Recovery ReopenAll(const LiveClient& client, Budget& budget);
  bool SettleLocks(Budget& budget);
  bool CloseLeft(Budget& budget);
  std::errc LoseExpiredLocks(LockOwner& owner, const StateId& used, Budget& budget);
  bool UnlockAll(LockOwner& owner, const LockOwners::Opener& opener, Budget& budget);
  struct HeldState {
    StateId state;
    std::shared_ptr<OpenFile> file;
    std::shared_ptr<LockOwner> owner;  // null: of the open file itself
  };
  std::vector<HeldState> StatesOf(uint64_t generation);
  Lease::Recovery RecoverRevoked(const LiveClient& client, Budget& budget);
  Reopened TakeRevocation(const HeldState& held, const LiveClient& client, Budget& budget);
  std::vector<std::shared_ptr<OpenFile>> OpenedBefore(uint64_t generation);
  bool MayReclaim(const LiveClient& client) const;
  Reopened Reopen(OpenFile& file, const StateId& used, const LiveClient& client, Budget& budget);
  Reopened ReopenFile(Reopening how, OpenFile& file, const StateId& used, const LiveClient& client,
                      OnDelay on_delay, Budget& budget);
  Acquired TryReopen(OpenFile& file, Claim claim, const FileName& name, const LiveClient& client,
                     OnDelay on_delay, Budget& budget);
  Acquired TryReopenByName(OpenFile& file, const LiveClient& client, OnDelay on_delay,
                           Budget& budget);
  Acquired TryReopenAnew(OpenFile& file, const LiveClient& client, OnDelay on_delay,
                         Budget& budget);
  bool RefusesHandles(Claim claim, std::errc error);
  void CloseEarlier(OpenFile& file, const LiveClient& client);
  Reopened ReopenLocked(Reopening how, OpenFile& file, const StateId& used,
                        const LiveClient& client, OnDelay on_delay, Budget& budget);

  rpc::Caller& caller_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> opens_by_handle_;
  // Generation of the last client id for which the server answered NO_GRACE.
  std::atomic<uint64_t> reclaimed_generation_{0};
  OpenOwners owners_;
  const std::shared_ptr<Delegations> delegations_;
  LockOwners lock_owners_;
  std::mutex mutex_;
  // This and below: guarded by mutex_.
  std::unordered_set<std::shared_ptr<OpenFile>> files_;
  std::vector<std::shared_ptr<OpenFile>>
      left_open_;                                 // closed files that are open on the server still
  size_t first_reopened_ = 0;                     // of the next RecoverAll()
  Lease lease_;                                      // its thread uses the others
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_FILES_H_
