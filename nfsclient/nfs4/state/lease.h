// lease: the client id of version 4: established, renewed and replaced (RFC 7530 9.1.1, 9.5, 9.6;
// RFC 8881 8.3, 8.4).
//
// Each object is a client of its own: its id string is unique and its verifier constant, so that a
// restarted server recognises it and lets it reclaim. Calls use the credential of the process,
// independent of who opens files.
//
// Established at the first Client() (client_ids.h). While a file is open, in sessions always, a
// thread renews the lease at a third of the server's lease time; a connection that brings nothing
// for a sixth of it is replaced, so that the renewal is not late. When the server no longer knows
// the client id, the first thread in Replace(), in sessions that thread, establishes another and
// reopens the files; other threads wait for it, until their deadlines. What is delayed then is left
// to the thread, and to who uses it.
//
// A lease is overdue once its time has passed since the last renewal that the server answered: the
// server may have given what is locked to another client. ConfirmIfOverdue() asks.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_LEASE_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_LEASE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "nfsclient/nfs4/state/client_ids.h"
#include "nfsclient/nfs4/state/delegations.h"
#include "nfsclient/nfs4/state/state_error.h"
#include "nfsclient/nfs4/state/timed_mutex.h"
#include "nfsclient/rpc/caller.h"

namespace nfswalk::protocol {

// A client id. Each has the next generation.
struct LiveClient {
  uint64_t id = 0;
  uint64_t generation = 0;   // 0: none yet
  bool may_reclaim = false;  // the previous one ended with a restart of the server
};

class Lease {
 public:
  using Budget = rpc::Caller::Budget;
  struct Recovery {
    // kLeaseExpired or kServerRestart: the client id is gone as well. Else kNone.
    StateError state_error = StateError::kNone;
    bool has_left = false;  // again later
    bool has_found = false;  // what the server had revoked: the next is not put off for this
  };
  // Reopens the files of earlier client ids, and settles what NoteLeft() told of. Does not wait for
  // what the server delays.
  using Recover = std::function<Recovery(const LiveClient&, Budget&)>;

  // `caller` and `delegations` outlive it; the latter end with the client id.
  Lease(rpc::Caller& caller, Delegations& delegations, Recover recover);
  ~Lease() { End(); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Returns the current client id; establishes the first. Errors: those of rpc/retry.h, the
  // server's and those of pthread_create(3); timed_out; operation_canceled after Stop().
  std::expected<LiveClient, std::errc> Client(Budget& budget);
  // Replaces the client id of `generation`, which got `state_error`, unless a later one exists.
  // Errors: those of Client(); io_error if the server keeps forgetting client ids.
  std::errc Replace(uint64_t generation, StateError state_error, Budget& budget);
  // Replaces it unless it got kLeaseExpired and the server knows it nonetheless. Errors: as above.
  std::errc Regain(uint64_t generation, StateError state_error, Budget& budget) {
    return state_error == StateError::kLeaseExpired ? Confirm(generation, budget)
                                                    : Replace(generation, state_error, budget);
  }
  // Returns the current client id; generation 0: none yet.
  LiveClient Current() const;
  // Returns the generation of the client id that a call with a reply was of, or a later one;
  // `named`: that which it was made for.
  uint64_t GenerationOf(const LiveClient& named) const {
    return ids_->has_sessions() ? Current().generation : named.generation;
  }
  CompoundLimits limits() const;
  // Asks the server whether it knows the client id of `generation`, of which a state id is said to
  // have expired: one alone may. Replaces it if not. Errors: those of Replace().
  std::errc Confirm(uint64_t generation, Budget& budget);
  std::errc ConfirmIfOverdue(Budget& budget) {
    return IsOverdue() ? Confirm(Current().generation, budget) : std::errc{};
  }

  // As ClientIds::can_be_called().
  bool can_be_called() { return ids_->can_be_called(); }
  // Until when, by CLOCK_MONOTONIC, the server keeps what it has granted, with a tenth of the lease
  // time to spare for clocks that differ. Any context.
  uint64_t trusted_until_ns() const { return trusted_until_ns_.load(); }

  // Count open files: the lease is renewed while there is one.
  void FileOpened();
  void FileClosed();
  // Tells the server, once for a client id, that all is reclaimed that was to be. While there is
  // something left (`has_left`) that is put off, for a lease time at most: has_left of the result.
  Recovery CompleteReclaim(const LiveClient& client, bool has_left, Budget& budget);
  // Has the thread call `recover`, until it has nothing left.
  void NoteLeft();
  // Returns whether a reply since the last call has said that the server has revoked some state: an
  // open file or a lock. The thread calls `recover` for it.
  bool TakeRevoked() { return is_revoked_.exchange(false); }

  // Lets the server forget the client, where it can be told to. Preconditions: no file is open, no
  // other call is in progress, and Stop() was called.
  void Discard(Budget& budget);
  // Ends the renewals for good. Does not block.
  void Stop();
  // Stops and joins the thread. Preconditions: no other call is in progress.
  void End();

 private:
  using Clock = std::chrono::steady_clock;

  std::errc Establish(bool may_reclaim, Budget& budget);
  void SetClient(const ClientIds::Granted& granted, bool may_reclaim);
  void SetLease(Clock::time_point began, std::chrono::seconds lease);
  void NoteEnded();
  void NoteRevoked();
  void NoteDue();
  std::errc StartThread();
  void KeepAlive();
  void KeepClient();
  void ReplaceEnded();
  Recovery RecoverLeft();
  bool RenewsNow() const { return files_open_ > 0 || ids_->has_sessions(); }
  std::chrono::milliseconds AttemptMax() const;
  bool IsOverdue() const { return Clock::now().time_since_epoch() >= valid_until_.load(); }

  void NoteRenewed(Clock::time_point asked);

  rpc::Caller& caller_;
  Delegations& delegations_;
  const Recover recover_;
  const std::unique_ptr<ClientIds> ids_;

  TimedMutex replacing_;  // held while a client id is established; before mutex_
  std::thread thread_;    // guarded by replacing_
  uint64_t renewals_ = 0;  // the thread's own

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  LiveClient live_;  // this and below: guarded by mutex_
  std::chrono::milliseconds lease_time_{ClientIds::kDefaultLease};
  Clock::time_point established_{};
  CompoundLimits limits_;
  uint64_t reclaim_completed_ = 0;  // the last generation that it is of
  bool has_ended_ = false;          // ids_ has to get the client id anew
  uint64_t files_open_ = 0;
  bool has_left_ = false;
  bool is_due_ = false;  // the next renewal, now
  bool stopped_ = false;
  std::atomic<bool> is_revoked_{false};
  // Written under mutex_, read without it: a reader that comes too early asks the server once more.
  std::atomic<Clock::duration> valid_until_{Clock::duration::max()};
  std::atomic<uint64_t> trusted_until_ns_{0};  // the same
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_LEASE_H_
