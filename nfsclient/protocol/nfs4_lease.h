// nfs4_lease: the current client id: established, renewed and replaced (RFC 7530 9.5, 9.6).
//
// Established at the first Client(). While a file is open a thread renews the lease at a third of
// the server's lease time. When the server no longer knows the client id, the first thread in
// Replace() establishes another and reopens all files; other threads block until then.
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
  // Reopens all open files under a new client id. Returns kLeaseExpired or kServerRestart if that
  // one is gone as well, else kNone.
  using ReopenAll = std::function<StateError(const LiveClient&, RpcCaller::Budget&)>;

  // `caller` outlives it.
  Lease(RpcCaller& caller, ReopenAll reopen_all);
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Returns the current client id; establishes the first. Errors: those of
  // ClientIdentity::Establish() and pthread_create(3); operation_canceled after Stop().
  std::expected<LiveClient, std::errc> Client(RpcCaller::Budget& budget);
  // Replaces the client id of `generation`, which got `state_error`, unless a later one exists.
  // Errors: those of Client(); io_error if the server keeps forgetting client ids.
  std::errc Replace(uint64_t generation, StateError state_error, RpcCaller::Budget& budget);
  // Returns the current client id; generation 0: none yet.
  LiveClient Current() const;

  // Count open files: the lease is renewed while there is one.
  void FileOpened();
  void FileClosed();

  // Ends the renewals for good. Does not block.
  void Stop();
  // Joins the thread. Call once, after Stop() and before destruction. Preconditions: no other call
  // is in progress or follows.
  void Join();

 private:
  using Clock = std::chrono::steady_clock;

  std::errc EstablishClientId(bool may_reclaim, RpcCaller::Budget& budget);
  std::errc StartThread();
  void KeepAlive();
  void Renew();

  RpcCaller& caller_;
  const ReopenAll reopen_all_;

  std::mutex replacing_;     // held while a client id is established; before mutex_
  ClientIdentity identity_;  // guarded by replacing_, except Renew()

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
