// back_channel: a TCP connection over which the server calls us (RFC 8881 2.10.3), with a thread of
// its own: a Connection is only read while a caller waits, and the server's calls cannot wait for
// that.
//
// It connects once there is a binding: the call that makes the connection one of the server's to
// call over. It is sent on each new connection, and when it is replaced; between it and its reply
// the server may call already.
//
//   the server ...                            then the thread
//   refuses the binding                       waits for another one
//   puts it off, or does not answer it        binds anew, after a pause
//   ends the connection, or is silent         connects and binds anew, after a pause
//   says elsewhere that it cannot call        as above (NoteLost())
//
// The pause is 100 ms, doubled each time up to 30 s or half a lease, less up to a quarter at
// random; a connection that has lasted for as long resets it.
//
// The server is not trusted: a record is at most kMessageBytesMax long, and so is what is sent for
// it; a record that is no call, and no reply to the binding, ends the connection. So does a server
// that does not take its replies. Nothing is kept of a call but what its Service keeps.
//
// Thread safety: all functions; End() by one thread. The socket lives in the network
// namespace of the thread that called Open().
#ifndef NFSWALK_NFSCLIENT_RPC_BACK_CHANNEL_H_
#define NFSWALK_NFSCLIENT_RPC_BACK_CHANNEL_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "nfsclient/rpc/connection.h"
#include "nfsclient/rpc/record_reader.h"
#include "nfsclient/rpc/server_locator.h"
#include "nfsclient/rpc/tcp_socket.h"
#include "nfsclient/rpc/xdr_reader.h"
#include "nfsclient/rpc/xdr_writer.h"

namespace nfswalk::rpc {

class BackChannel {
 public:
  using Clock = std::chrono::steady_clock;
  // Limit of a record of either direction, without its mark.
  static constexpr size_t kMessageBytesMax = 4096;

  // accept_stat (RFC 5531 9).
  enum class Accepted : uint32_t {
    kSuccess = 0,
    kProgramUnavailable = 1,
    kVersionMismatch = 2,
    kProcedureUnavailable = 3,
    kGarbageArguments = 4,
  };
  // A program that the server calls. `answer` appends the results, no more than fit in a message;
  // it runs on the channel's thread, and neither waits nor calls the server.
  struct Service {
    uint32_t program = 0;
    uint32_t version = 0;
    std::function<Accepted(uint32_t procedure, XdrReader& arguments, XdrWriter& results)> answer;
    // Is told that a connection which was bound has ended: calls over it may have been lost. As
    // above; before another one is bound.
    std::function<void()> on_lost;
  };

  enum class Bound : uint8_t { kYes, kNo, kLater };
  struct Binding {
    uint32_t procedure = 0;
    std::vector<std::byte> arguments;
    // Reads the results.
    std::function<Bound(XdrReader& results)> decide;
  };

  // `credential`: the body of AUTH_SYS that binds, empty for AUTH_NONE. Errors: those of
  // TcpSocket::Create(); too_many_files_open without an eventfd(2), by which it is ended.
  static std::expected<std::unique_ptr<BackChannel>, std::errc> Open(
      const Endpoint& endpoint, const Timeouts& timeouts, std::shared_ptr<ServerLocator> locator,
      std::string credential, Service service);
  ~BackChannel() { End(); }
  BackChannel(const BackChannel&) = delete;
  BackChannel& operator=(const BackChannel&) = delete;

  // Binds the connection by this from now on. Without memory or a thread for it the channel stays
  // as it is. Does nothing after Shutdown().
  void Bind(Binding binding) noexcept;
  // The server cannot call, though the connection may seem to be there.
  void NoteLost();
  // As Connection::FitLease().
  void FitLease(std::chrono::milliseconds lease);
  // Ends the connection for good. Does not block.
  void Shutdown();
  // Shuts down and waits for the thread: `answer` is not called any more.
  void End();

  // Whether the server has bound the present connection: it may call, or may not.
  bool is_bound() const { return is_bound_.load(); }
  // Calls of the server that were answered, or are being.
  uint64_t calls() const { return calls_.load(); }

 private:
  static constexpr std::chrono::milliseconds kBackoffMin{100};
  static constexpr std::chrono::milliseconds kBackoffMax{30'000};
  using BindingPtr = std::shared_ptr<const Binding>;

  BackChannel(const Endpoint& endpoint, const Timeouts& timeouts,
              std::shared_ptr<ServerLocator> locator, std::string credential, Service service);

  void Run();
  bool AwaitBinding();
  bool Connect();
  bool HasMoved() const;
  bool HasStopped();
  void BackOff(Clock::time_point began);
  void Serve();
  // Each returns false if the connection has to end.
  bool FollowBinding();
  bool SendBinding();
  bool Receive(Clock::time_point until);
  bool TakeRecord(const ReplySlice& record);
  bool TakeBindingReply(XdrReader& reply);
  bool AnswerCall(uint32_t xid, XdrReader& call);
  bool Send(XdrWriter& message);

  const Endpoint endpoint_;
  const Timeouts timeouts_;
  const std::shared_ptr<ServerLocator> locator_;  // may be null
  const std::string credential_;
  const Service service_;
  TcpSocket socket_;

  // The thread's own.
  RecordReader reader_;
  std::shared_ptr<const ServerLocation> location_;  // that the socket connects to
  BindingPtr present_;                              // that of the connection
  bool is_answered_ = false;                        // it was
  Clock::time_point answer_due_{};
  Clock::time_point next_attempt_{};
  std::chrono::milliseconds backoff_{kBackoffMin};
  uint32_t next_xid_;
  std::minstd_rand jitter_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // This and below: guarded by mutex_.
  BindingPtr binding_;
  bool is_refused_ = false;  // binding_ was
  bool is_lost_ = false;
  bool stopped_ = false;
  std::chrono::milliseconds backoff_max_{kBackoffMax};
  std::thread thread_;

  std::atomic<bool> is_bound_{false};
  std::atomic<uint64_t> calls_{0};
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_BACK_CHANNEL_H_
