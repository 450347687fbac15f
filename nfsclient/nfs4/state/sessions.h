// sessions: client ids from version 4.1 on, and their sessions: EXCHANGE_ID, CREATE_SESSION (RFC
// 8881 18.35, 18.36). There is one session at a time; SEQUENCE renews the lease. The server calls
// over a connection of its own, which is bound to each session in the background; where that
// fails, it does not call.
//
// A session that has ended is replaced under the same client id, if the server still knows that:
// then all state stands. Else it has restarted, or the lease had expired.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_SESSIONS_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_SESSIONS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "nfsclient/nfs4/session_arguments.h"
#include "nfsclient/nfs4/state/callbacks.h"
#include "nfsclient/nfs4/state/client_ids.h"
#include "nfsclient/rpc/back_channel.h"
#include "nfsclient/rpc/session_slots.h"

namespace nfswalk::protocol {

class Sessions final : public ClientIds {
 public:
  Sessions(rpc::Caller& caller, Delegations& delegations, Listener listener);
  ~Sessions() override { End(); }

  Granted Get(uint64_t known, Budget& budget) override;
  LeaseReply Begin(Budget& budget) override;
  Status Renew(uint64_t id, Budget& budget) override;
  Status CompleteReclaim(Budget& budget) override;
  void Discard(uint64_t id, Budget& budget) override;
  void End() override;
  bool has_sessions() const override { return true; }
  bool can_be_called() override;

 private:
  Status Exchange(Budget& budget);
  Status Create(Budget& budget);
  std::errc Prepare(const SessionGrant& grant);
  void TakeStatus(uint64_t generation, uint32_t flags, uint32_t added);
  void DestroyEarlier(Budget& budget);
  void BindBackChannel();

  rpc::Caller& caller_;
  Delegations& delegations_;
  const Listener listener_;
  // Members of the thread in Get() or Begin().
  uint64_t client_id_ = 0;
  uint32_t sequence_ = 0;  // of the next CREATE_SESSION
  bool is_exchanged_ = false;
  bool has_state_ = false;
  CompoundLimits limits_;
  std::shared_ptr<const rpc::Session> session_;
  std::optional<SessionId> earlier_;  // that may have to be destroyed

  // The last session of which the server has said that all state is lost with it.
  std::atomic<uint64_t> lost_state_{0};
  std::atomic<bool> is_reclaimed_{false};  // RECLAIM_COMPLETE was executed for the client id

  Callbacks callbacks_;
  const std::shared_ptr<rpc::BackChannel> back_channel_;  // null: the server cannot call
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_SESSIONS_H_
