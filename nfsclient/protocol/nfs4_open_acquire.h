// nfs4_open_acquire: acquires and releases the state id of an open file, under one client id.
//
// Repeats OPEN after a pause (DELAY, GRACE), with another owner (BAD_SEQID), and with owners as
// names if the server refuses numbers (BADOWNER). Confirms the first OPEN of an owner (RFC
// 7530 16.18). Looks the file up if the reply has no handle. A refused OPEN leaves no state on the
// server. One without a reply, or not confirmed, may leave an open until the lease ends, and its
// owner is dropped.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_ACQUIRE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_ACQUIRE_H_

#include <atomic>
#include <cstdint>
#include <system_error>

#include "nfsclient/protocol/nfs4_open_calls.h"
#include "nfsclient/protocol/nfs4_open_owner.h"
#include "nfsclient/protocol/nfs4_state_error.h"

namespace nfswalk::protocol {

// A client id. Each has the next generation.
struct LiveClient {
  uint64_t id = 0;
  uint64_t generation = 0;   // 0: none yet
  bool may_reclaim = false;  // the previous one ended with a restart of the server
};

struct Acquired {
  std::errc error{};
  // nfsstat4 of a refusal; 0 if there was no reply.
  int status = 0;
  OpenOwner owner;
  StateId state;
  FileHandle handle;
  OptionalAttributes attributes;
  WeakCacheConsistency directory;
};

class OpenAcquirer {
 public:
  // `caller` and `owners` must outlive it.
  OpenAcquirer(RpcCaller& caller, const OwnerNames& owners)
      : caller_(caller), calls_(caller, owners) {}

  // Opens and confirms. `at`, `arguments`: as of OpenCalls::Open(); fills in client id, owner and
  // sequence. Turns kGuarded into kNoCreate once the file was created, so that a repeated OPEN does
  // not fail with EEXIST. Errors: the server's, those of rpc_retry.h, io_error after too many
  // repetitions.
  Acquired Acquire(const LiveClient& client, const FileHandle& at, OpenArguments& arguments,
                   const Credential& credential, RpcCaller::Budget& budget);
  // Sends CLOSE and returns the owner to the pool. Errors are ignored.
  void Release(OpenOwner owner, const FileHandle& file, const StateId& state,
               RpcCaller::Budget& budget);

 private:
  Acquired Finish(OpenOwner owner, const OpenedReply& opened, const FileHandle& at,
                  const OpenArguments& arguments, RpcCaller::Budget& budget);
  void Confirm(Acquired& acquired, RpcCaller::Budget& budget);

  RpcCaller& caller_;
  const OpenCalls calls_;
  OpenOwnerPool pool_;
  // Set once the server refused a numeric owner (NFS4ERR_BADOWNER).
  std::atomic<bool> owners_as_names_{false};
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_ACQUIRE_H_
