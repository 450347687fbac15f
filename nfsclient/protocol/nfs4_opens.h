// nfs4_opens: open files on the server and their lease (RFC 7530 9).
//
// Sends nothing before the first Open(): a client without open files has no client id and no lease.
// While a file is open a thread renews the lease. When the client id is gone (STALE_CLIENTID after
// a restart of the server, EXPIRED after a partition) a new one is established and every file is
// reopened: with CLAIM_PREVIOUS in the grace period of a restarted server, else by name. A file
// that cannot be reopened, because it is gone or its name leads to another, fails with io_error
// from then on (RFC 7530 9.6.3).
//
// Sequence: OPEN, OPEN_CONFIRM and CLOSE of one open-owner follow each other with sequence numbers
// that the server checks (RFC 7530 9.1.7). A retransmission with the same number gets the same
// reply, so all three are safe to repeat. There are as many owners as files open at once
// (nfs4_open_owner.h).
//
// Thread safety: all functions; StateOf() and Recover() also on one OpenState. Destroying an
// OpenState needs exclusive access to it.
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
  // The arguments of Open().
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
    std::unique_ptr<OpenState> state;  // closes when destroyed; may outlive the Nfs4Opens
  };

  // `caller` and `owners` must outlive it and all its OpenStates.
  Nfs4Opens(RpcCaller& caller, const OwnerNames& owners);
  // Joins the thread that renews. Preconditions: no call is in progress.
  ~Nfs4Opens();
  Nfs4Opens(const Nfs4Opens&) = delete;
  Nfs4Opens& operator=(const Nfs4Opens&) = delete;

  // Opens or creates a file. `budget`: time left to the operation (rpc_retry.h).
  Opened Open(const OpenRequest& request, const Credential& credential, RpcCaller::Budget& budget);

  // Returns the state id for READ, WRITE and SETATTR; of null, the anonymous one.
  static StateId StateOf(const OpenState* state);
  // Recovers from the `status` (nfsstat4) of a READ, WRITE or SETATTR with the state id `used`.
  // Returns errc{} once the file is reopened, by this or another thread: repeat with a new
  // StateOf(). Else returns the error to report: that of the recovery, or the errno of a status
  // that is not about state.
  std::errc Recover(const OpenState* state, const StateId& used, int status,
                    RpcCaller::Budget& budget);

  void Shutdown();

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;  // shared with every OpenState
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPENS_H_
