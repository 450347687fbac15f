// nfs4_lease: the client id that is good at the moment, kept alive and replaced when it is not
// (RFC 7530 9.5, 9.6).
//
// Made when it is first asked for. While a file is open a thread renews it at a third of the
// server's lease time. Whoever learns that the server has forgotten it has it replaced: the first
// one does so and has everything opened again, those who come meanwhile wait and find it done.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_LEASE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_LEASE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#include "nfsclient/protocol/nfs4_client_id.h"
#include "nfsclient/protocol/nfs4_open_acquire.h"
#include "nfsclient/protocol/nfs4_state_error.h"
#include "nfsclient/protocol/rpc_caller.h"

namespace nfswalk::protocol {

class Lease {
 public:
  // Opens again, under the new client, what is open. Answers with trouble that concerns the client
  // if that one is gone as well, else kNone.
  using ReopenAll = std::function<StateError(const LiveClient&, RpcCaller::Budget&)>;

  // `caller` outlives it.
  Lease(RpcCaller& caller, ReopenAll reopen_all);
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Errors: those of ClientIdentity::Establish() and of pthread_create(3); operation_canceled after
  // Stop().
  std::expected<LiveClient, std::errc> Client(RpcCaller::Budget& budget);
  // The one of `generation` met `trouble`. errc{} once there is a later one; the same errors.
  std::errc Replace(uint64_t generation, StateError trouble, RpcCaller::Budget& budget);
  LiveClient Known() const;

  // One more file is open, one less.
  void Hold();
  void Drop();

  // Ends the renewals, for good. Does not wait.
  void Stop();
  // Waits for the thread. Once, after Stop(), before the end; no call is inside or comes.
  void Join();

 private:
  using Clock = std::chrono::steady_clock;

  std::errc Make(bool may_reclaim, RpcCaller::Budget& budget);
  std::errc StartThread();
  void KeepAlive();
  void Renew();

  RpcCaller& caller_;
  const ReopenAll reopen_all_;

  std::mutex replacing_;     // held while a client id is made; before mutex_
  ClientIdentity identity_;  // guarded by replacing_, but for Renew()

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  LiveClient live_;  // this and below: guarded by mutex_
  std::chrono::milliseconds period_{};
  uint64_t files_open_ = 0;
  bool stopped_ = false;

  std::thread thread_;  // guarded by replacing_
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_LEASE_H_
