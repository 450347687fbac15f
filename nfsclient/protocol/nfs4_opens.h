// nfs4_opens: the files that this client has open on the server, and the lease under which the
// server keeps them (RFC 7530 9).
//
// Nothing is asked of the server before the first Open(): a client that only looks has no client id
// and no lease. From then on a thread renews the lease for as long as a file is open. When the
// server has forgotten us (STALE_CLIENTID after a restart, EXPIRED after we were cut off) a new
// client id is made and every open file is opened again: with CLAIM_PREVIOUS while a restarted
// server is in its grace period, else by name; what cannot be reopened, because it is gone or
// another file by now, answers io_error from then on (RFC 7530 9.6.3).
//
// Sequence: the OPEN, OPEN_CONFIRM and CLOSE calls of one open-owner go one after the other, with
// sequence numbers that the server checks (RFC 7530 9.1.7); a call that was not answered is sent
// again with the same number and gets the same answer, so it is safe to repeat. There are as many
// owners as files were open at once (nfs4_open_owner.h).
//
// Thread safety: all functions; an OpenState as any value, but StateOf() and Recover() may be
// called from any number of threads.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPENS_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPENS_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <system_error>

#include "nfsclient/protocol/nfs4_owner.h"
#include "nfsclient/protocol/nfs4_state.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/rpc_caller.h"

namespace nfswalk::protocol {

class Nfs4Opens {
 public:
  // What Open() is asked for.
  struct OpenRequest {
    FileHandle directory;
    std::string_view name;
    bool read = false;
    bool write = false;
    OpenArguments::How how = OpenArguments::How::kNoCreate;
    SetAttributes attributes = {};    // kUnchecked, kGuarded
    uint64_t exclusive_verifier = 0;  // kExclusive
  };
  struct Opened {
    std::errc error{};
    FileHandle handle;
    OptionalAttributes attributes;
    WeakCacheConsistency directory;
    std::unique_ptr<OpenState> state;  // its destructor closes, also after this object is gone
  };

  // `caller` and `owners` outlive it and all its states.
  Nfs4Opens(RpcCaller& caller, const OwnerNames& owners);
  // Ends the lease's thread. Preconditions: no call is inside.
  ~Nfs4Opens();
  Nfs4Opens(const Nfs4Opens&) = delete;
  Nfs4Opens& operator=(const Nfs4Opens&) = delete;

  // `budget`: the caller's patience (hard, soft).
  Opened Open(const OpenRequest& wish, const Credential& credential, RpcCaller::Budget& budget);

  // For READ, WRITE, SETATTR. Null: the anonymous state id.
  static StateId StateOf(const OpenState* state);
  // After a READ, WRITE or SETATTR with `used` ended in `status` (nfsstat4). errc{}: opened again,
  // or somebody else had done so; repeat with a fresh StateOf(). Else the error to report; a status
  // that says nothing of the state is handed back as its errno.
  std::errc Recover(const OpenState* state, const StateId& used, int status,
                    RpcCaller::Budget& budget);

  void Shutdown();

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;  // with every OpenState
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPENS_H_
