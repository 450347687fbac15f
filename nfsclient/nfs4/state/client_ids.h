// client_ids: how a client makes itself known to a server, and tells it that it is still there:
// what version 4.0 and the later minor versions do in different ways.
//
// Thread safety: Get(), Begin() and Discard() by one thread at a time; the others all functions.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_CLIENT_IDS_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_CLIENT_IDS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>

#include "nfsclient/nfs4/session_arguments.h"
#include "nfsclient/rpc/caller.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {

class CompoundReader;
class Delegations;

class ClientIds {
 public:
  using Budget = rpc::Caller::Budget;
  using Clock = std::chrono::steady_clock;

  // Used if the server sends no lease time.
  static constexpr std::chrono::seconds kDefaultLease{90};

  struct Status {
    std::errc error{};  // those of rpc/retry.h, the server's
    int status = 0;     // nfsstat4, if there was a reply
  };
  struct Granted : Status {
    uint64_t id = 0;
    // The server knows what was opened under the id before.
    bool has_state = false;
    Clock::time_point asked{};  // when the lease began
    CompoundLimits limits;
  };
  struct LeaseReply : Status {
    std::chrono::seconds lease = kDefaultLease;
  };

  // Is told what replies say of a session. Called by any thread, which may hold locks of rpc/.
  struct Listener {
    std::function<void()> on_end;      // Get() is needed once more
    std::function<void()> on_revoked;  // the server has revoked some state, and keeps that in mind
    std::function<void()> on_due;      // the server waits for a call: Renew() is one
  };

  // Makes those of the minor version that `caller` speaks, which outlives them.
  // `delegations`: those that the server calls about; outlives them, too.
  static std::unique_ptr<ClientIds> Make(rpc::Caller& caller, Delegations& delegations,
                                         Listener listener);

  virtual ~ClientIds() = default;
  ClientIds(const ClientIds&) = delete;
  ClientIds& operator=(const ClientIds&) = delete;

  // Gets a client id; `known`: the last one, 0 for none.
  virtual Granted Get(uint64_t known, Budget& budget) = 0;
  // Begins to use it: sends the calls that wait for it. Preconditions: a thread that asks for the
  // current client id is told of this one. Returns the lease time.
  virtual LeaseReply Begin(Budget& budget) = 0;
  // Renews the lease of `id`. status: NFS4_OK, if it has.
  virtual Status Renew(uint64_t id, Budget& budget) = 0;
  // Tells the server that nothing more is reclaimed.
  virtual Status CompleteReclaim(Budget& budget) = 0;
  // Lets the server forget the client, which has closed its files.
  virtual void Discard(uint64_t id, Budget& budget) = 0;
  // Ends what it does in the background: the listener is told nothing more.
  virtual void End() {}
  // Whether calls are of the client id that is used when they are sent, and name none. Then the
  // lease is renewed while no file is open, too, and the server opens nothing new before
  // CompleteReclaim().
  virtual bool has_sessions() const = 0;
  // Whether the server can call, and has not said otherwise: about a delegation.
  virtual bool can_be_called() { return false; }

 protected:
  ClientIds();

  // A server that says more is not believed (MAX_LEASE_PERIOD).
  static constexpr std::chrono::seconds kLeaseMax{3600};
  // Limit of attempts at one client id.
  static constexpr int kTriesMax = 4;

  // Reads PUTROOTFH and GetLimits().
  static void DecodeLease(CompoundReader& reader, LeaseReply& reply);
  static void SetStatus(const CompoundReader& reader, Status& reply);
  // Takes another id string: the server has this one of another user.
  void ChangeName();

  const sunrpc_auth::Credential credential_;  // of the process, independent of who opens files
  const uint64_t verifier_;
  std::string name_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_CLIENT_IDS_H_
