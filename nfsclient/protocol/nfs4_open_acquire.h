// nfs4_open_acquire: from a wish to a state id that works, under one client id, and back.
//
// An OPEN is repeated while the server asks for patience (DELAY, GRACE), with another owner if it
// counts the calls of this one differently (BAD_SEQID), and with users as names if it refuses
// numbers (BADOWNER). The first OPEN of an owner is confirmed (RFC 7530 16.18). A handle that does
// not come with the answer is looked up. What is refused leaves nothing on the server; what is not
// answered in time, or cannot be confirmed, leaves at most an open that the server forgets with the
// lease, and the owner is not used again.
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

// The id that the server knows us by at the moment. Each new one has the next generation.
struct LiveClient {
  uint64_t id = 0;
  uint64_t generation = 0;   // 0: none yet
  bool may_reclaim = false;  // the one before was forgotten by a server that restarted
};

struct Acquired {
  std::errc error{};
  // Why, if the server said no; 0 if it said nothing.
  int status = 0;
  OpenOwner owner;
  StateId state;
  FileHandle handle;
  OptionalAttributes attributes;
  WeakCacheConsistency directory;
};

class OpenAcquirer {
 public:
  // Both outlive it.
  OpenAcquirer(RpcCaller& caller, const OwnerNames& owners)
      : caller_(caller), calls_(caller, owners) {}

  // `at`, `arguments`: as of OpenCalls::Open(), without client id, owner and sequence. Changes
  // `arguments` to what a further try must ask for: a guarded create that was granted once must not
  // meet its own file. Errors: the server's, those of rpc_retry.h, io_error if server and client do
  // not come to terms.
  Acquired Acquire(const LiveClient& client, const FileHandle& at, OpenArguments& arguments,
                   const Credential& credential, RpcCaller::Budget& budget);
  // Closes. Nothing that the server may say to it concerns the caller.
  void Release(OpenOwner owner, const FileHandle& file, const StateId& state,
               RpcCaller::Budget& budget);

 private:
  Acquired Finish(OpenOwner owner, const OpenedReply& opened, const FileHandle& at,
                  const OpenArguments& arguments, RpcCaller::Budget& budget);
  void Confirm(Acquired& acquired, RpcCaller::Budget& budget);

  RpcCaller& caller_;
  const OpenCalls calls_;
  OpenOwnerPool pool_;
  // Set once the server refused an owner in digits.
  std::atomic<bool> name_owners_{false};
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_ACQUIRE_H_
