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
// 7530 9.1.9), until the budget ends. OPEN is repeated after a pause (DELAY, GRACE), with another
// owner (BAD_SEQID), and with owners as names if the server refuses numbers (BADOWNER). A refused
// OPEN leaves no state on the server. One without a reply, with one that does not parse, or not
// confirmed may leave an open until the lease ends, and its owner is dropped.
//
// Thread safety: OpenOwners: all functions; OpenOwner: as any value.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_OWNERS_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_OWNERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "nfsclient/nfs4/compound.h"
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
  std::optional<uint32_t> granted;  // as in OpenReply
  WeakCacheConsistency directory;
};

class OpenOwners {
 public:
  using Budget = rpc::Caller::Budget;
  // Limit of owners kept without a file.
  static constexpr size_t kIdleMax = 64;

  // `caller` and `names` must outlive it.
  OpenOwners(rpc::Caller& caller, const OwnerNames& names) : caller_(caller), names_(names) {}

  // Opens and confirms. `at`: the directory, or the file if arguments.reclaim. Fills client id,
  // owner and sequence into `arguments`; turns kGuarded into kNoCreate once the file was created,
  // so that a repeated OPEN does not fail with EEXIST. Looks the file up if the reply has no
  // handle. Errors: the server's, those of rpc/retry.h, io_error after too many repetitions.
  Acquired Open(const LiveClient& client, const FileHandle& at, OpenArguments& arguments,
                const Credential& credential, Budget& budget);
  // Sends CLOSE and takes the owner back. Errors are ignored.
  void Close(OpenOwner owner, const FileHandle& file, const StateId& state, Budget& budget);

  // Returns an owner for exclusive use, idle or new.
  OpenOwner Take(const Credential& credential, uint64_t generation);
  // Takes back an owner without a file. Drops it if it is not usable.
  void Put(OpenOwner owner);

 private:
  struct SequencedReply;
  struct OpenedReply;

  template <typename Reply, typename Decode>
  Reply Send(OpenOwner& owner, Compound& compound, Budget& budget, Decode decode);
  OpenedReply SendOpen(OpenOwner& owner, const FileHandle& at, OpenArguments arguments,
                       bool owners_as_names, Budget& budget);
  Acquired Finish(OpenOwner owner, const OpenedReply& opened, const FileHandle& at,
                  const OpenArguments& arguments, Budget& budget);
  void Confirm(Acquired& acquired, Budget& budget);
  LookupReply FindOpened(const FileHandle& directory, std::string_view name,
                         const Credential& credential, Budget& budget);

  rpc::Caller& caller_;
  const OwnerNames& names_;
  // Set once the server refused a numeric owner (NFS4ERR_BADOWNER).
  std::atomic<bool> owners_as_names_{false};
  std::mutex mutex_;
  std::vector<OpenOwner> idle_;  // guarded by mutex_; the most recent one is the last
  uint64_t next_name_ = 0;       // guarded by mutex_
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_OPEN_OWNERS_H_
