// open_owners: open-owners, and OPEN, OPEN_CONFIRM and CLOSE by them (RFC 7530 9.1.3, 9.1.7, 16.16,
// 16.18, 16.2), under one client id.
//
// Calls of one owner follow each other with sequence numbers that the server checks. An owner has
// at most one file open: a second OPEN of the same file would upgrade the first's state instead of
// creating another, and one CLOSE would end both (RFC 7530 9.9). So calls for different files are
// never serialised by a sequence. After CLOSE an owner is kept for the next OPEN of its credential,
// which then needs no OPEN_CONFIRM.
//
// A call without a reply is sent again with the same number, which the server executes once (RFC
// 7530 9.1.9), until the budget ends. So is an OPEN whose reply has no file handle: the server then
// tells that of what it has opened. OPEN is repeated after a pause (DELAY, GRACE), with another
// owner (BAD_SEQID), and with owners as names if the server refuses numbers (BADOWNER). A refused
// OPEN leaves no state on the server.
//
// An OPEN, OPEN_CONFIRM or CLOSE that was given up may have been executed, and no other call knows
// of the open: Settle() asks with the same number, and closes it. It does not create or truncate:
// what was not executed by then is not executed any more, as the number is used up.
//
// A delegation that was not asked for is returned at once.
//
// Thread safety: OpenOwners: all functions; OpenOwner: as any value.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_OWNERS_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_OWNERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/state/lease.h"
#include "nfsclient/nfs4/state_id.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/rpc/caller.h"

namespace nfswalk::protocol {

struct OpenOwner {
  std::string name;
  // Sequence number of the next call.
  uint32_t sequence = 0;
  // Generation of its client id (lease.h).
  uint64_t generation = 0;
  Credential credential = {};
  // False once the number that the server expects is unknown.
  bool usable = true;

  // Updates the sequence after a call that the server executed with `nfsstat4`.
  void Executed(int nfsstat4);
};

// A file opened for its owner.
struct Acquired {
  std::errc error{};
  // nfsstat4 of a refusal; 0 if there was no reply.
  int status = 0;
  OpenOwner owner;
  StateId state;
  FileHandle handle;
  OptionalAttributes attributes;
  uint64_t attributes_set = 0;      // as in OpenGrant
  std::optional<uint32_t> granted;  // as in OpenReply
  WeakCacheConsistency directory;
  std::optional<DelegationGrant> delegation = {};  // that was asked for
};

// Whether an OPEN is repeated after DELAY and GRACE, or its status returned.
enum class OnDelay : uint8_t { kRepeat, kReturn };

class OpenOwners {
 public:
  using Budget = rpc::Caller::Budget;
  // Limit of owners kept without a file.
  static constexpr size_t kIdleMax = 64;
  // Limit of calls kept until they are settled; the oldest is forgotten, and may stay open until
  // the lease ends.
  static constexpr size_t kUnsettledMax = 256;

  // The generation of the current client id.
  using CurrentGeneration = std::function<uint64_t()>;

  // `caller` and `names` must outlive it.
  OpenOwners(rpc::Caller& caller, const OwnerNames& names, CurrentGeneration current)
      : caller_(caller), names_(names), current_(std::move(current)) {}

  // Opens and confirms. `at`: the directory, or the file, as arguments.claim has it. Fills client
  // id, owner and sequence into `arguments`; turns kGuarded into kNoCreate once the file was
  // created, so that a repeated OPEN does not fail with EEXIST. A `client` that is not the current
  // one any more is refused as the server does (NFS4ERR_STALE_CLIENTID). Errors: the server's,
  // those of rpc/retry.h, io_error after too many repetitions.
  Acquired Open(const LiveClient& client, const FileHandle& at, OpenArguments& arguments,
                const Credential& credential, OnDelay on_delay, Budget& budget);
  // Sends CLOSE and takes the owner back; returns false if there was no reply, and the call is to
  // be made again, with the same number. Other errors are ignored.
  bool TryClose(OpenOwner& owner, const FileHandle& file, const StateId& state, Budget& budget);
  // Sends CLOSE now, and if need be in Settle(), or in that alone. Preconditions: no locks.
  void Close(OpenOwner owner, const FileHandle& file, const StateId& state, Budget& budget);
  void CloseLater(OpenOwner owner, const FileHandle& file, const StateId& state);

  // How many calls that were given up are to be settled.
  size_t unsettled() const;
  // Settles the calls that were given up under `client`, and forgets those of earlier client ids.
  // Returns kLeaseExpired or kServerRestart if the client id is gone, else kNone.
  StateError Settle(const LiveClient& client, Budget& budget);

  // Returns an owner for exclusive use, idle or new.
  OpenOwner Take(const Credential& credential, uint64_t generation);
  // Takes back an owner without a file. Drops it if it is not usable.
  void Put(OpenOwner owner);

 private:
  struct SequencedReply;
  struct OpenedReply;
  // A call that was given up.
  struct Unsettled {
    OpenOwner owner;
    FileHandle at;          // as in Open(); that of the file once `state` is known
    std::string name = {};  // of an OPEN by name
    bool read = false;
    bool write = false;
    OpenArguments::Claim claim = OpenArguments::Claim::kName;
    std::optional<StateId> state = {};  // none: of an OPEN
    bool must_confirm = false;
  };

  template <typename Reply, typename Decode>
  Reply Send(OpenOwner& owner, Compound& compound, Budget& budget, Decode decode);
  OpenedReply SendOpen(OpenOwner& owner, const FileHandle& at, OpenArguments arguments,
                       bool owners_as_names, Budget& budget);
  OpenedReply SendOpenForHandle(OpenOwner& owner, const FileHandle& at,
                                const OpenArguments& arguments, bool owners_as_names,
                                Budget& budget);
  OpenedReply SendUntilExecuted(OpenOwner& owner, const FileHandle& at,
                                const OpenArguments& arguments, bool owners_as_names,
                                OnDelay on_delay, Budget& budget);
  Acquired Finish(OpenOwner owner, const OpenArguments& arguments, const OpenedReply& opened,
                  Budget& budget);
  template <typename AddOperation, typename TakeResult>
  SequencedReply SendOnFile(OpenOwner& owner, const FileHandle& file, Budget& budget,
                            AddOperation add, TakeResult take);
  // Replaces `state` by the confirmed one.
  SequencedReply Confirm(OpenOwner& owner, const FileHandle& file, StateId& state, Budget& budget);
  SequencedReply SendClose(OpenOwner& owner, const FileHandle& file, const StateId& state,
                           Budget& budget);
  void ReturnUnasked(const DelegationGrant& delegation, const FileHandle& file,
                     const Credential& credential, Budget& budget);
  void GiveUp(Unsettled call);
  bool SettleOne(uint64_t client_id, Unsettled& call, StateError& state_error, Budget& budget);

  rpc::Caller& caller_;
  const OwnerNames& names_;
  const CurrentGeneration current_;
  // Set once the server refused a numeric owner (NFS4ERR_BADOWNER).
  std::atomic<bool> owners_as_names_{false};
  mutable std::mutex mutex_;
  std::vector<OpenOwner> idle_;  // this and below: guarded by mutex_; the most recent is last
  std::deque<Unsettled> unsettled_;
  uint64_t next_name_ = 0;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_OWNERS_H_
