// callbacks: answers the calls of a server: CB_NULL and CB_COMPOUND (RFC 8881 20, RFC 7862 16).
//
// Recalls go to the delegations, and calls for slots to the listener. The client holds no layouts
// and copies: callbacks about them are refused as about unknown ones.
//
// The server is not trusted: results are no longer than BackChannel::kMessageBytesMax, and a call
// of another session changes nothing.
//
// Thread safety: Answer() by one thread at a time; Begin() any thread.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_CALLBACKS_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_CALLBACKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "nfsclient/nfs4/state/callback_slots.h"
#include "nfsclient/nfs4/state/delegations.h"
#include "nfsclient/rpc/back_channel.h"
#include "nfsclient/rpc/session_slots.h"
#include "nfsclient/rpc/xdr_reader.h"
#include "nfsclient/rpc/xdr_writer.h"

namespace nfswalk::protocol {

class Callbacks {
 public:
  // Operations of a CB_COMPOUND, CB_SEQUENCE included.
  static constexpr uint32_t kOperationsMax = 8;

  struct Listener {
    // CB_RECALL_SLOT, which has lowered rpc::Session::highest: the server waits for a SEQUENCE.
    std::function<void()> on_slots_recalled;
  };

  // `delegations` outlives it.
  Callbacks(uint32_t minor_version, Delegations& delegations, Listener listener)
      : minor_version_(minor_version), delegations_(delegations), listener_(std::move(listener)) {}

  // From now on calls are of this session alone.
  void Begin(std::shared_ptr<const rpc::Session> session);
  // The last sr_status_flags of that session; 0 without one.
  uint32_t status_flags();
  // As rpc::BackChannel::Service::answer.
  rpc::BackChannel::Accepted Answer(uint32_t procedure, rpc::XdrReader& arguments,
                                    rpc::XdrWriter& results);

 private:
  struct Run;

  uint32_t Sequence(Run& run);
  uint32_t Execute(uint32_t operation, Run& run);
  void RunAll(Run& run, uint32_t operations);

  const uint32_t minor_version_;
  Delegations& delegations_;
  const Listener listener_;

  std::mutex mutex_;
  // This and below: guarded by mutex_.
  std::shared_ptr<const rpc::Session> session_;  // null: none yet
  CallbackSlots slots_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_CALLBACKS_H_
