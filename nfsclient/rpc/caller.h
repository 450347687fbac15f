// caller: sends calls with a credential over one of several connections, retried as the mount
// options say.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_RPC_CALLER_H_
#define NFSWALK_NFSCLIENT_RPC_CALLER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/protocol/transport_options.h"
#include "nfsclient/protocol/transport_stats.h"
#include "nfsclient/rpc/back_channel.h"
#include "nfsclient/rpc/call.h"
#include "nfsclient/rpc/connection.h"
#include "nfsclient/rpc/internal_errors.h"
#include "nfsclient/rpc/lost_reply.h"
#include "nfsclient/rpc/retry.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::rpc {

class Caller {
 public:
  using Budget = Retry::Budget;

  // Makes `options.nconnect` connections (clamped to 1..16), which connect when first used and
  // share `locator`. Errors: those of Connection::Open().
  static std::expected<std::unique_ptr<Caller>, std::errc> Open(
      const Endpoint& endpoint, const protocol::TransportOptions& options,
      std::shared_ptr<ServerLocator> locator = nullptr);

  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  Retry::Clock::time_point NewDeadline() const { return retry_.NewDeadline(); }
  Budget NewBudget() const { return retry_.NewBudget(); }
  Budget NewBudgetOfCall() const { return retry_.NewBudgetOfCall(); }

  // Sends an idempotent call. `decode(XdrReader& results, Reply&)` fills the reply, on this thread.
  template <typename Reply, typename Decode>
  Reply Call(const sunrpc_auth::Credential& credential, Budget& budget, const Request& request,
             Decode decode) {
    bool repeated = false;
    return SendAndDecode<Reply>(credential, budget, request, decode, repeated);
  }
  // Calls with a new budget.
  template <typename Reply, typename Decode>
  Reply Call(const sunrpc_auth::Credential& credential, const Request& request, Decode decode) {
    Budget budget = NewBudget();
    return Call<Reply>(credential, budget, request, decode);
  }
  // Sends a call that is not idempotent. `error_if_executed` is the error of a second execution.
  // `find_outcome(LookedUp)` returns the reply of the first, or nullopt if none is known; it is
  // called after that error, and before a repetition, which is then not sent (lost_reply.h).
  template <typename Reply, typename Decode, typename FindOutcome>
  Reply CallOnce(const sunrpc_auth::Credential& credential, Budget& budget, const Request& request,
                 Decode decode, std::errc error_if_executed, FindOutcome find_outcome) {
    bool repeated = false;
    std::optional<Reply> done;
    const std::function<bool()> may_repeat = [&] {
      done = find_outcome(protocol::LookedUp::kBeforeRepetition);
      return !done;
    };
    Reply reply = SendAndDecode<Reply>(credential, budget, request, decode, repeated, &may_repeat);
    if (done) return std::move(*done);
    if (!repeated || reply.error != error_if_executed) return reply;
    return find_outcome(protocol::LookedUp::kAfterError).value_or(std::move(reply));
  }

  // An idempotent call, one of several in flight. Borrows its request until it has ended.
  struct Started {
    explicit Started(const Request& request) : call(request) {}

    rpc::Call call;
    Connection* connection = nullptr;  // null: not sent
    std::errc error{};                 // why not
    Retry::Attempts attempts = {};
  };
  void Start(Started& started, const sunrpc_auth::Credential& credential);
  // Has the server work on it while the caller does something else before Finish().
  void SendNow(Started& started) {
    if (started.connection != nullptr) started.connection->SendNow(started.call);
  }
  // Waits until it is done, sent again as needed, with a new budget. Once for each Start(). A reply
  // of kJukebox is returned, not repeated.
  template <typename Reply, typename Decode>
  Reply Finish(Started& started, Decode decode) {
    Budget budget = NewBudget();
    return *Resume<Reply>(started, budget, decode);
  }

  // Waits for a started call, as Retry::Resume(): nullopt if the wait ended before the call.
  // `budget` is the operation's: NewBudgetOfCall().
  template <typename Reply, typename Decode>
  std::optional<Reply> Resume(Started& started, Budget& budget, Decode decode) {
    const std::optional<std::errc> error = Resume(started, budget);
    if (!error) return std::nullopt;
    Reply reply;
    reply.error = *error;
    if (reply.error == std::errc{}) DecodeResults(started.call, decode, reply);
    return reply;
  }
  std::optional<std::errc> ResumePause(Budget& budget) { return retry_.ResumePause(budget); }
  // As Retry::End().
  void End(Started& started, const Budget& budget) {
    if (started.connection == nullptr) return;
    retry_.End(*started.connection, started.call, budget, started.attempts);
  }

  // Pauses as after kJukebox, for calls that the caller repeats itself. Errors: timed_out,
  // operation_canceled.
  [[nodiscard]] std::errc PauseForJukebox(Budget& budget) { return retry_.PauseForJukebox(budget); }

  // Sends a NULL call on the first connection, once. `service` ("NFS version 3") and `host` are for
  // the message. Errors: those of ExplainFailedCall().
  std::expected<void, protocol::ConnectError> Ping(const std::string& service,
                                                   const std::string& host,
                                                   Retry::Clock::time_point deadline);

  // As Connection::SetMinorVersion().
  void SetMinorVersion(uint32_t minor_version);
  uint32_t minor_version() const { return minor_version_; }
  // Whether calls are sent in sessions: from version 4.1 on.
  bool has_sessions() const { return minor_version_ != 0; }
  // Sends calls in `session` from now on, over as many connections as it has slots.
  void UseSession(const std::shared_ptr<const Session>& session);
  void EndSession(uint64_t generation);
  // Makes the channel over which the server calls `service` once it is bound; it ends before this
  // object does. nullptr without a socket for it. Once, before calls of other threads.
  std::shared_ptr<BackChannel> OpenBackChannel(BackChannel::Service service);
  // As Connection::FitLease().
  void FitLease(std::chrono::milliseconds lease);
  void Shutdown();

  uint64_t calls_sent() const;
  uint64_t connections_opened() const;
  uint64_t retries() const { return retry_.retries(); }
  // Counters, with the procedures (ReplyCounts) under these names.
  protocol::TransportStats Stats(std::span<const std::string_view> names) const;

 private:
  Caller(const Endpoint& endpoint, const protocol::TransportOptions& options,
         std::shared_ptr<ServerLocator> locator, std::string machine_name);

  // Repeats after kJukebox, even a call that is not idempotent: it means that the call was not
  // executed. Sets `repeated` if the call was sent more than once.
  template <typename Reply, typename Decode>
  Reply SendAndDecode(const sunrpc_auth::Credential& credential, Budget& budget,
                      const Request& request, Decode decode, bool& repeated,
                      const std::function<bool()>* may_repeat = nullptr) {
    for (;;) {
      Reply reply;
      rpc::Call call(request);
      call.may_repeat = may_repeat;
      call.ends_with_session = budget.ends_with_session();
      const SendResult sent = Send(call, credential, budget);
      repeated |= sent.repeated;
      reply.error = sent.error;
      if (sent.error != std::errc{} || sent.withheld) return reply;
      DecodeResults(call, decode, reply);
      if (reply.error != protocol::kJukebox) return reply;
      const bool must_ask = repeated && call.outlived_session() && may_repeat != nullptr;
      if (must_ask && !(*may_repeat)()) return reply;
      reply = Reply{};
      reply.error = retry_.PauseForJukebox(budget);
      if (reply.error != std::errc{}) return reply;
    }
  }
  template <typename Reply, typename Decode>
  static void DecodeResults(const rpc::Call& call, Decode& decode, Reply& reply) {
    try {
      XdrReader results = call.results();
      decode(results, reply);
    } catch (const std::bad_alloc&) {
      reply = Reply{};
      reply.error = std::errc::not_enough_memory;
    }
  }
  SendResult Send(rpc::Call& call, const sunrpc_auth::Credential& credential, Budget& budget);
  std::optional<std::errc> Resume(Started& started, Budget& budget);
  Connection& LeastLoaded();

  const Endpoint endpoint_;
  const Timeouts timeouts_;
  const std::shared_ptr<ServerLocator> locator_;  // may be null
  const std::string machine_name_;
  Retry retry_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::atomic<size_t> connections_used_{0};
  uint32_t minor_version_ = 0;
  std::shared_ptr<BackChannel> back_channel_;  // may be null
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_CALLER_H_
