// rpc_retry: retries and timeouts of nfs(5): hard, soft, timeo, retrans.
//
// A call without a reply is retransmitted after timeo; the n-th retransmission waits (n + 1) *
// timeo, at most 600 s (linear back-off, as nfs(5) has it for TCP). On a soft mount an operation
// fails with timed_out after the sum of these times for `retrans` retransmissions, independent of
// what it waited for; on a hard mount never. A call whose connection died is retransmitted at once
// and not counted: the channel backs off. Only idempotent calls are retransmitted here; others end
// in kOutcomeUnknown.
//
// Thread safety: all functions; a Budget is used by one thread.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_RPC_RETRY_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_RPC_RETRY_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>

#include "nfsclient/protocol/rpc_call.h"
#include "nfsclient/protocol/rpc_channel.h"
#include "nfsclient/protocol/transport_options.h"

namespace nfswalk::protocol {

struct SendResult {
  enum class Kind : uint8_t {
    kReplied,         // OnReply() has run
    kFailed,          // with `error`; final
    kOutcomeUnknown,  // not idempotent, sent, no reply: the server may have executed it
  };
  Kind kind = Kind::kFailed;
  std::errc error{};
};

class RpcRetry {
 public:
  using Clock = RpcCall::Clock;

  // The time left to one operation, over all its calls.
  class Budget {
   private:
    friend class RpcRetry;
    Clock::time_point give_up = Clock::time_point::max();
    uint32_t timeouts = 0;
    std::chrono::milliseconds pause{0};
  };

  explicit RpcRetry(const TransportOptions& options);

  // The sum of the timeouts from now; never on a hard mount.
  Clock::time_point NewDeadline() const;
  // Not beyond the thread's CallDeadline.
  Budget NewBudget() const;
  // Returns a budget until `deadline`, hard or soft. For mounting.
  static Budget BudgetUntil(Clock::time_point deadline) {
    Budget budget;
    budget.give_up = deadline;
    return budget;
  }

  // Executes `call` with deadlines from `budget` until it ends. Blocks.
  // Errors (kFailed): timed_out (soft); operation_canceled; host_unreachable (fail_if_unreachable
  // only); permission_denied, protocol_not_supported, operation_not_supported, io_error (rejected:
  // RFC 5531 9); argument_list_too_long (exceeds libnfs' encode buffer).
  [[nodiscard]] SendResult Send(RpcChannel& channel, RpcCall& call, bool idempotent,
                                Budget& budget);

  // Pauses before a call is repeated after NFS3ERR_JUKEBOX: 100 ms, doubled up to 5 s.
  // Errors: timed_out, operation_canceled.
  [[nodiscard]] std::errc PauseForJukebox(Budget& budget);

  // Ends all pauses with operation_canceled. Does not shut down the channels.
  void Shutdown();

  // Calls repeated after a lost connection, a timeout or NFS3ERR_JUKEBOX.
  uint64_t retries() const { return retries_.load(); }

 private:
  std::chrono::milliseconds AttemptTimeout(uint32_t timeouts) const;

  const bool hard_;
  const std::chrono::milliseconds timeo_;
  const uint32_t retrans_;

  std::atomic<uint64_t> retries_{0};
  std::mutex mutex_;
  std::condition_variable shut_down_;
  bool is_shut_down_ = false;  // guarded by mutex_
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_RPC_RETRY_H_
