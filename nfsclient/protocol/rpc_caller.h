// rpc_caller: sends calls with a credential over one of several connections, retried as the mount
// options say.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_RPC_CALLER_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_RPC_CALLER_H_

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "nfsclient/protocol/internal_errors.h"
#include "nfsclient/protocol/rpc_call.h"
#include "nfsclient/protocol/rpc_channel.h"
#include "nfsclient/protocol/rpc_retry.h"
#include "nfsclient/protocol/transport_options.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {

class RpcCaller {
 public:
  using Budget = RpcRetry::Budget;
  enum class Repeat : bool { kNever, kIdempotent };

  // Starts `options.nconnect` channels (clamped to 1..16), which connect when first used.
  static std::expected<std::unique_ptr<RpcCaller>, std::errc> Open(const RpcEndpoint& endpoint,
                                                                   const TransportOptions& options);

  RpcCall::Clock::time_point NewDeadline() const { return retry_.NewDeadline(); }
  Budget NewBudget() const { return retry_.NewBudget(); }

  // Sends a call: `issue(rpc, callback, data)` queues it, `decode(const Result&, Reply&)` fills the
  // reply on the I/O thread. Returns nullopt if a call that is not idempotent was sent and its
  // reply is lost. Repeats after kJukebox even then: it means that the call was not executed.
  template <typename Result, typename Reply, typename Issue, typename Decode>
  std::optional<Reply> TryCall(const sunrpc_auth::Credential& credential, Repeat repeat,
                               Budget& budget, Issue issue, Decode decode) {
    for (;;) {
      Reply reply;
      CallOf call(issue, [&](const void* result) {
        if (result == nullptr) {
          reply.error = std::errc::io_error;
        } else {
          decode(*static_cast<const Result*>(result), reply);
        }
      });
      const SendResult sent = Send(call, credential, repeat, budget);
      if (sent.kind == SendResult::Kind::kOutcomeUnknown) return std::nullopt;
      if (sent.kind == SendResult::Kind::kFailed) reply.error = sent.error;
      if (reply.error != kJukebox) return reply;
      reply = Reply{};
      reply.error = retry_.PauseForJukebox(budget);
      if (reply.error != std::errc{}) return reply;
    }
  }

  // Sends an idempotent call with a new budget. Always has a reply.
  template <typename Result, typename Reply, typename Issue, typename Decode>
  Reply Call(const sunrpc_auth::Credential& credential, Issue issue, Decode decode) {
    Budget budget = NewBudget();
    return *TryCall<Result, Reply>(credential, Repeat::kIdempotent, budget, issue, decode);
  }

  // Pauses as after kJukebox, for calls that the caller repeats itself. Errors: timed_out,
  // operation_canceled.
  [[nodiscard]] std::errc PauseForJukebox(Budget& budget) { return retry_.PauseForJukebox(budget); }

  // Executes `call` once on the first connection, with its own settings.
  CallOutcome Probe(RpcCall& call) { return channels_.front()->Execute(call); }

  void Shutdown();

  uint64_t calls_sent() const;
  uint64_t connections_opened() const;
  uint64_t retries() const { return retry_.retries(); }

 private:
  RpcCaller(const TransportOptions& options, std::string machine_name);

  SendResult Send(RpcCall& call, const sunrpc_auth::Credential& credential, Repeat repeat,
                  Budget& budget);
  RpcChannel& NextChannel();

  const std::string machine_name_;
  RpcRetry retry_;
  std::vector<std::unique_ptr<RpcChannel>> channels_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_RPC_CALLER_H_
