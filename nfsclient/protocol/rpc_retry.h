// rpc_retry: how patiently a call is repeated, in the words of nfs(5): hard, soft, timeo, retrans.
//
// A call that got no answer for timeo is repeated; the n-th repetition waits (n + 1) * timeo, at
// most 600 s (the linear back-off of nfs(5) over TCP). On a soft mount an operation ends in
// timed_out when the sum of those waits for `retrans` repetitions is over, whatever it waited for;
// on a hard one never. A call whose connection died is repeated at once, which costs no repetition:
// the channel backs off. Only idempotent calls are repeated here. For the others the caller is told
// that the outcome is unknown.
//
// Thread safety: all functions; a Budget belongs to one thread.
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
    kReplied,         // OnReply() was run
    kFailed,          // `error` says why; the server did not execute the call, or never will answer
    kOutcomeUnknown,  // sent, never answered, not idempotent: the server may have executed it
  };
  Kind kind = Kind::kFailed;
  std::errc error{};
};

class RpcRetry {
 public:
  using Clock = RpcCall::Clock;

  // The patience left to one operation, over all calls that it takes.
  class Budget {
   private:
    friend class RpcRetry;
    Clock::time_point give_up = Clock::time_point::max();
    uint32_t timeouts = 0;
    std::chrono::milliseconds pause{0};
  };

  explicit RpcRetry(const TransportOptions& options);

  Budget NewBudget() const;
  // For a first contact: until `deadline`, hard or soft.
  static Budget BudgetUntil(Clock::time_point deadline) {
    Budget budget;
    budget.give_up = deadline;
    return budget;
  }

  // Sets the call's deadline and executes it, as often as it takes. Blocks.
  // Errors (kFailed): timed_out (soft); operation_canceled; host_unreachable (only with
  // fail_if_unreachable); permission_denied, protocol_not_supported, operation_not_supported,
  // io_error (the server refused the call: RFC 5531 9); argument_list_too_long (does not fit into a
  // call).
  [[nodiscard]] SendResult Send(RpcChannel& channel, RpcCall& call, bool idempotent,
                                Budget& budget);

  // Waits before asking again a server that answered NFS3ERR_JUKEBOX: 100 ms, doubled up to 5 s.
  // Errors: timed_out, operation_canceled.
  [[nodiscard]] std::errc PauseForJukebox(Budget& budget);

  // Ends all pauses with operation_canceled. The channels are shut down by their owner.
  void Shutdown();

  // Calls repeated because of a lost connection, a timeout or NFS3ERR_JUKEBOX.
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
