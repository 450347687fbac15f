// connection: one TCP connection to one RPC program, driven by the threads that call.
//
// There is no thread of its own. A thread in Wait() sends its call itself; one of those that wait,
// the driver, connects and receives for all, and when its own call is done it wakes another to go
// on. A lone caller thus does one sendmsg(2) and one recv(2), and no thread is woken.
//
// Invariants, all under mutex_:
//   1. A call is in queue_ (kQueued, kPartial: only the first) or in in_flight_ (kSending, kSent),
//      until it is done. Its owner may free it then.
//   2. Where a thread sleeps in Wait(), driver_ is not null: a thread that ceases to be the driver
//      makes a sleeper the next one (HandOver()). A call that is done is never the driver.
//   3. One thread at a time sends (sending_), one receives (the driver); both do so without mutex_.
//      The calls that are being sent (kSending) stay until sendmsg(2) has returned: a reply that
//      comes before is kept, a deadline that passes waits.
//      It receives into memory of the connection, or, in the middle of the reply to a READ, where
//      the data of that call goes (placed_); once that call is done it does not any more. The call
//      of another thread stays for a recv(2) into its memory (receiving_into_), which takes what
//      is there: who gives it up, or breaks the connection, leaves its end to the driver.
//   4. The socket is disconnected by the driver, while no thread sends. Others break the
//      connection: kBroken, and shutdown(2), which ends the driver's recv(2).
//
//   state        left by
//   kDown        the pause after a failure ends and a call waits -> kConnecting
//   kConnecting  connected -> kUp; refused, or too slow -> kDown
//   kUp          end of the stream, a violation of the protocol, Abort() -> kBroken
//   kBroken      the driver -> kDown
//   (all)        Shutdown() -> kClosed, for good
//
// The pause is 10 ms after a loss, doubled with each attempt up to 30 s (FitLease()), less up to a
// quarter at random; a reply resets it (an accepted connection does not: the server may close at
// once). A call whose deadline passes ends alone; a reply that comes for it later is dropped by its
// xid. It takes the connection along only if it was sent in part. A call that outlives its wait
// stays in flight then: the next driver, of whichever call, takes its reply. At most kInFlightMax
// calls are sent and not answered, the others wait.
//
// In a session of NFSv4.1 a call is sent once one of its slots is free (session_slots.h), behind
// those that need none.
//
// The server is not trusted: a record is no longer than the longest reply that the calls in flight
// may have; a record that is no message, or a reply to a call that was not sent, ends the
// connection; so do kStraysMax replies in a row that belong to no call, or calls of the server, for
// which there is no program here. A call that is answered so ends in kRejected.
//
// Thread safety: all functions. The socket lives in the network namespace of the thread that called
// Open().
#ifndef NFSWALK_NFSCLIENT_RPC_CONNECTION_H_
#define NFSWALK_NFSCLIENT_RPC_CONNECTION_H_

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <system_error>

#include "nfsclient/rpc/call.h"
#include "nfsclient/rpc/record_reader.h"
#include "nfsclient/rpc/reply_counts.h"
#include "nfsclient/rpc/server_locator.h"
#include "nfsclient/rpc/session_slots.h"
#include "nfsclient/rpc/tcp_socket.h"

namespace nfswalk::rpc {

struct Endpoint {
  std::string address;  // numeric
  uint16_t port = 0;
  uint32_t program = 0;
  uint32_t version = 0;
};

struct Timeouts {
  std::chrono::milliseconds connect;  // of one attempt
  // How long the server's machine may be silent before the connection ends (TCP_USER_TIMEOUT).
  std::chrono::milliseconds silence;
};

class Connection {
 public:
  using Clock = Call::Clock;
  static constexpr size_t kInFlightMax = 256;
  static constexpr uint32_t kStraysMax = 1024;

  // Connects at the first call. Once connecting fails repeatedly it asks `locator`, if there is
  // one, and follows the server. Errors: those of TcpSocket::Create().
  static std::expected<std::unique_ptr<Connection>, std::errc> Open(
      const Endpoint& endpoint, const Timeouts& timeouts,
      std::shared_ptr<ServerLocator> locator = nullptr);
  // Preconditions: no call is in progress.
  ~Connection() = default;

  // Queues `call`, which must live until it has ended; sends nothing yet. In the child
  // of a fork(2) it ends in kCanceled at once.
  void Submit(Call& call);
  // Sends what is queued as far as the socket takes it now. Between Submit() and Wait() of `call`,
  // which may follow much later: until then the server works on it.
  void SendNow(Call& call);
  // Sends what is queued and waits until `call` is done. Only the thread that waits for a call sees
  // to its deadline, and a Cancellation of that thread ends the call as its deadline does. Once for
  // each Submit(); after kPending, which only a call that outlives its wait ends in, again, on any
  // thread. Such a call ends in kTimedOut where it was not sent.
  Outcome Wait(Call& call);
  // Ends a call after kPending, in kTimedOut unless it is done. Returns its outcome.
  Outcome Withdraw(Call& call);
  Outcome Execute(Call& call) {
    Submit(call);
    return Wait(call);
  }
  // Ends the connection that `call` was sent on, if it is still the present one: the next Submit()
  // sends it on a new one.
  void Abort(const Call& call);
  // Ends the connection if it has brought nothing since `then`, and was there, or `call` was sent
  // on it.
  void AbortIfSilent(const Call& call, Clock::time_point then);
  // Returns whether the connection that `call` was sent on is the present one and brought something
  // since then.
  bool HasReceivedSince(const Call& call, Clock::time_point then);
  // Notices within half a lease that the server's machine is silent or back: state that it keeps
  // for us ends with the lease, and may be reclaimed in a grace period that is often as long.
  void FitLease(std::chrono::milliseconds lease);
  // The minor version of version 4 (RFC 8881 16.2.3). Preconditions: no call is in progress.
  void SetMinorVersion(uint32_t minor_version);
  // Sends calls in `session` from now on: in its slots `first`, `first` + `stride`, ... A call that
  // must not be executed twice, and was sent in an earlier one without an answer, ends in kLost.
  void UseSession(std::shared_ptr<const Session> session, uint32_t first, uint32_t stride);
  // Ends the use of a session for calls that are not sent yet: they wait for another.
  void EndSession(uint64_t generation);
  // The present session has no slot for this connection: until UseSession() calls that need one and
  // are not sent yet, and later ones, end in kNoSlot.
  void UseNoSlot();
  // Returns whether the server knows by the call's slot whether it has executed it, if it is sent
  // again. False outside of sessions.
  bool Remembers(const Call& call);
  // Gives up a call that has ended without a reply and is not submitted again.
  void Leave(Call& call);
  // Ends all calls, later ones too, with kCanceled. Does not block; idempotent.
  void Shutdown();

  // Calls queued or in flight, for spreading load. Relaxed, as the counters.
  uint32_t load() const { return load_.load(); }
  uint64_t calls_sent() const { return calls_sent_.load(); }
  ReplyCounts replies() const;
  // Connections opened, including the first.
  uint64_t connections_opened() const { return connections_opened_.load(); }

 private:
  enum class State : uint8_t { kDown, kConnecting, kUp, kBroken, kClosed };
  // The bytes that are received at once where the data of a READ may follow. Short replies fit.
  static constexpr size_t kHeaderReceiveBytes = 4096;
  static constexpr std::chrono::milliseconds kBackoffMin{10};
  static constexpr std::chrono::milliseconds kBackoffMax{30'000};
  using Lock = std::unique_lock<std::mutex>;
  using CallList = boost::intrusive::list<
      Call, boost::intrusive::member_hook<Call, boost::intrusive::list_member_hook<>,
                                          &Call::transmission_hook_>>;
  using WaiterList = boost::intrusive::list<
      Call, boost::intrusive::member_hook<Call, boost::intrusive::list_member_hook<>,
                                          &Call::waiter_hook_>>;
  struct Batch;

  Connection(const Endpoint& endpoint, const Timeouts& timeouts,
             std::shared_ptr<ServerLocator> locator);

  // Calls: connection.cc.
  void EncodeHeader(Call& call);
  void Sleep(Lock& lock, Call& call, Clock::time_point until);
  bool AwaitDone(Lock lock, Call& call);
  void Cancel(Call& call);
  static bool IsOver(const Call& call, Clock::time_point now) {
    return now >= call.deadline || call.canceled_;
  }
  // Whether so much of its data may come behind the header that it is placed.
  static bool IsPlaceable(const Request& request) {
    return request.data_into.size() >= RecordReader::kPlacedBytesMin + kHeaderReceiveBytes;
  }
  bool EndWait(Lock& lock, Call& call);
  void GiveUp(Lock& lock, Call& call);
  bool IsInSession(const Request& request) const;
  bool NeedsSlot(const Call& call) const;
  void Queue(Call& call);
  bool TakeSlot(Call& call);
  bool TakeSequence(Call& call);
  void EndWithSession();
  Outcome EndWithoutSlot(Call& call);
  void TimeOut(Call& call);
  void Complete(Call& call, Outcome outcome);
  // `outcome_of(Call&)`: kPending leaves the call as it is.
  template <typename OutcomeOf>
  void CompleteAll(CallList& calls, OutcomeOf outcome_of);
  void EndSent(Outcome outcome);
  void EndAll();
  void Break();
  void HandOver();
  Outcome Finish(Call& call);

  // The driver: connection_drive.cc.
  bool Drive(Lock& lock, Call& call);
  bool IsIdle(Clock::time_point now);
  void Pause(Lock& lock, Call& call, Clock::time_point until);
  void FollowServer();
  void StartConnecting();
  void AwaitConnection(Lock& lock, Clock::time_point until);
  void ConnectEnded(int error);
  void Receive(Lock& lock, Call& driver);
  ssize_t ReceiveForOther(Lock& lock, const Call* other, std::span<std::byte> space);
  void ReceivedSome(ssize_t received);
  void PlaceData();
  void TakeRecords();
  bool TakeReply(ReplySlice record, bool is_whole);
  void TakeLateReply(uint32_t xid, XdrReader& reply);
  bool Answer(Call& call, Outcome outcome);
  size_t RecordBytesMax() const;
  void EndConnection(Clock::time_point next_attempt);
  Clock::time_point BackOff();

  // Sending: connection_send.cc.
  void Transmit(Lock& lock, const Call& sender);
  bool CanSend();
  void Gather(Batch& batch);
  void Account(const Batch& batch, ssize_t sent);
  bool Requeue(const Batch& batch, size_t first);
  bool MustPause() const;
  Call* NextSender();
  void WakeNextSender();
  void EndIfBroken();

  const Endpoint endpoint_;
  const Timeouts timeouts_;
  const std::shared_ptr<ServerLocator> locator_;  // may be null
  TcpSocket socket_;
  RecordReader reader_;  // guarded by mutex_, but for the bytes that the driver receives

  mutable std::mutex mutex_;
  std::condition_variable sent_;      // sending_ became false
  std::condition_variable received_;  // receiving_into_ became null
  // All below: guarded by mutex_.
  State state_ = State::kDown;
  bool sending_ = false;
  bool send_blocked_ = false;  // the socket took less than there was
  bool driving_ = false;       // driver_'s thread is in Drive()
  Call* driver_ = nullptr;
  CallList queue_;
  CallList in_flight_;
  WaiterList waiters_;
  uint32_t minor_version_ = 0;
  SessionSlots slots_;
  bool has_no_slot_ = false;
  size_t placeable_ = 0;            // calls in both lists with memory for much data
  Call* placed_ = nullptr;          // its data is received where it goes
  // placed_, in a recv(2) of another thread.
  const Call* receiving_into_ = nullptr;
  size_t partial_bytes_ = 0;        // sent of the first in queue_, if that is kPartial
  size_t late_bytes_max_ = 0;       // the longest reply that may come to a call that timed out
  uint32_t strays_ = 0;             // replies to no call, and calls, since the last reply to one
  uint32_t next_xid_;
  uint32_t generation_ = 0;
  uint32_t connect_failures_ = 0;                   // in a row
  std::shared_ptr<const ServerLocation> location_;  // that the socket connects to
  std::chrono::milliseconds backoff_{kBackoffMin};
  std::chrono::milliseconds backoff_max_{kBackoffMax};
  Clock::time_point next_attempt_{};
  Clock::time_point resume_sending_{};  // after a failure for want of memory; {}: none
  Clock::time_point connect_deadline_{};
  Clock::time_point connected_at_{};
  Clock::time_point last_received_{};
  ReplyCounts replies_;
  std::minstd_rand jitter_;

  std::atomic<uint32_t> load_{0};
  std::atomic<uint64_t> calls_sent_{0};
  std::atomic<uint64_t> connections_opened_{0};
};

template <typename OutcomeOf>
void Connection::CompleteAll(CallList& calls, OutcomeOf outcome_of) {
  for (auto at = calls.begin(); at != calls.end();) {
    Call& call = *at++;
    if (const Outcome outcome = outcome_of(call); outcome != Outcome::kPending) {
      Complete(call, outcome);
    }
  }
}

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_CONNECTION_H_
