#include "nfsclient/rpc/connection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include "nfsclient/protocol/cancellation.h"
#include "tests/fixtures/fake_server.h"
#include "tests/unit/nfsclient/rpc/tagged_call.h"

namespace nfswalk::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLong{60};

// A server whose handler is given, and a connection to it.
class ConnectionTest : public testing::Test {
 protected:
  void Serve(FakeServer::Handler handler, milliseconds connect_timeout = kLong) {
    server_.emplace(std::move(handler));
    connection_ = OpenConnection(server_->port(), connect_timeout);
  }
  // Answers NULL; signals other calls and does not answer them.
  void ServeSilence() {
    Serve(OnNfsCall([this](const FakeCall&) {
      seen_.release();
      return kSilence;
    }));
  }
  // Executes `call` as the first one of a mount.
  Outcome ConnectAndExecute(TaggedCall& call) {
    call.fail_if_unreachable = true;
    return connection_->Execute(call);
  }

  // Signals calls, and answers them with SendReply() of held_.
  void ServeHeld() {
    Serve(OnNfsCall([this](const FakeCall& call) {
      held_.push_back(call);
      seen_.release();
      return kSilence;
    }));
  }
  // Executes a call of which the wait ends first, as the server has it.
  void LeaveInFlight(TaggedCall& call) {
    call.outlives_wait = true;
    call.deadline = Call::Clock::now() + milliseconds{50};
    EXPECT_EQ(connection_->Execute(call), Outcome::kPending);
    seen_.acquire();
    call.deadline = Call::Clock::time_point::max();
  }

  std::counting_semaphore<> seen_{0};
  std::deque<FakeCall> held_;
  std::optional<FakeServer> server_;
  std::unique_ptr<Connection> connection_;
  TaggedCall call_{1}, next_{2};
};

TEST_F(ConnectionTest, CallsAreAnsweredOnAConnectionOpenedForTheFirst) {
  Serve(OnNfsCall([](const FakeCall&) { return kNoEntry; }));
  EXPECT_EQ(connection_->connections_opened(), 0u);
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(connection_->Execute(call_), Outcome::kReplied);
    EXPECT_EQ(call_.status(), NFS3ERR_NOENT);
    EXPECT_EQ(connection_->connections_opened(), 1u);
    EXPECT_EQ(connection_->calls_sent(), i);
  }
}

TEST_F(ConnectionTest, AtMostTheLimitIsInFlight) {
  std::deque<FakeCall> held;
  size_t most_held = 0;
  std::atomic<bool> release = false;
  Serve(OnNfsCall([&](const FakeCall& call) {
    if (release) return kNoEntry;
    held.push_back(call);
    most_held = std::max(most_held, held.size());
    if (held.size() == Connection::kInFlightMax) seen_.release();
    return kSilence;
  }));
  constexpr size_t kCalls = Connection::kInFlightMax + 100;
  std::deque<TaggedCall> calls;
  for (uint32_t i = 0; i < kCalls; ++i) connection_->Submit(calls.emplace_back(i));
  std::jthread driver([&] { EXPECT_EQ(connection_->Wait(calls.front()), Outcome::kReplied); });
  seen_.acquire();
  release = true;
  for (const FakeCall& call : held) server_->SendReply(call, kNoEntry);
  driver.join();
  for (size_t i = 1; i < kCalls; ++i) EXPECT_EQ(connection_->Wait(calls[i]), Outcome::kReplied);
  EXPECT_EQ(most_held, Connection::kInFlightMax);
  EXPECT_EQ(connection_->calls_sent(), kCalls);
}

TEST_F(ConnectionTest, CallsInFlightAreLostWithTheirConnectionAndTheNextCallOpensAnother) {
  Serve(OnNfsCall([](const FakeCall& call) { return call.connection == 1 ? kHangUp : kNoEntry; }));
  EXPECT_EQ(connection_->Execute(call_), Outcome::kLost);
  EXPECT_TRUE(call_.was_sent());
  EXPECT_EQ(connection_->Execute(next_), Outcome::kReplied);
  EXPECT_EQ(connection_->connections_opened(), 2u);
}

// WIRE-5.
TEST_F(ConnectionTest, AnOverdueCallEndsAloneAndItsLateReplyIsDropped) {
  std::deque<FakeCall> held;
  Serve(OnNfsCall([&](const FakeCall& call) {
    held.push_back(call);
    seen_.release();
    return kSilence;
  }));
  std::jthread waiter([this] { EXPECT_EQ(connection_->Execute(call_), Outcome::kReplied); });
  seen_.acquire();
  next_.deadline = Call::Clock::now() + milliseconds{50};
  EXPECT_EQ(connection_->Execute(next_), Outcome::kTimedOut);
  EXPECT_TRUE(next_.was_sent());
  seen_.acquire();
  server_->SendReply(held.back(), kNoEntry);
  server_->SendReply(held.front(), kNoEntry);
  waiter.join();
  EXPECT_EQ(connection_->connections_opened(), 1u);
}

// WIRE-5: the driver's own deadline.
TEST_F(ConnectionTest, ADriverThatTimesOutHandsOver) {
  std::deque<FakeCall> held;
  Serve(OnNfsCall([&](const FakeCall& call) {
    held.push_back(call);
    seen_.release();
    return kSilence;
  }));
  next_.deadline = Call::Clock::now() + milliseconds{50};
  connection_->Submit(next_);
  std::jthread driver([this] { EXPECT_EQ(connection_->Wait(next_), Outcome::kTimedOut); });
  seen_.acquire();
  std::jthread waiter([this] { EXPECT_EQ(connection_->Execute(call_), Outcome::kReplied); });
  seen_.acquire();
  driver.join();
  server_->SendReply(held.back(), kNoEntry);
}

// WIRE-30: the driver's deadline, then another's, then its reply.
TEST_F(ConnectionTest, ACallOutlivesTheWaitsForIt) {
  ServeHeld();
  LeaveInFlight(call_);
  call_.deadline = Call::Clock::now();
  EXPECT_EQ(connection_->Wait(call_), Outcome::kPending);
  server_->SendReply(held_.front(), kNoEntry);
  call_.deadline = Call::Clock::time_point::max();
  std::jthread other([this] { EXPECT_EQ(connection_->Wait(call_), Outcome::kReplied); });
  other.join();
  EXPECT_EQ(call_.status(), NFS3ERR_NOENT);
  EXPECT_EQ(connection_->calls_sent(), 1u);
  EXPECT_EQ(connection_->load(), 0u);
}

// WIRE-30.
TEST_F(ConnectionTest, AnotherDriverTakesTheReplyOfACallThatOutlivedItsWait) {
  ServeHeld();
  std::jthread driver([this] { EXPECT_EQ(connection_->Execute(call_), Outcome::kReplied); });
  seen_.acquire();
  LeaveInFlight(next_);  // not the driver
  server_->SendReply(held_.back(), StatusAnswer(NFS3ERR_STALE));
  server_->SendReply(held_.front(), kNoEntry);
  driver.join();
  next_.deadline = Call::Clock::now();  // it is done
  EXPECT_EQ(connection_->Wait(next_), Outcome::kReplied);
  EXPECT_EQ(next_.status(), NFS3ERR_STALE);
}

// WIRE-30.
TEST_F(ConnectionTest, ADriverWhoseCallOutlivesItsWaitHandsOver) {
  ServeHeld();
  next_.outlives_wait = true;
  next_.deadline = Call::Clock::now() + milliseconds{50};
  connection_->Submit(next_);
  std::jthread driver([this] { EXPECT_EQ(connection_->Wait(next_), Outcome::kPending); });
  seen_.acquire();
  std::jthread waiter([this] { EXPECT_EQ(connection_->Execute(call_), Outcome::kReplied); });
  seen_.acquire();
  driver.join();
  server_->SendReply(held_.back(), kNoEntry);
  waiter.join();
  EXPECT_EQ(connection_->Withdraw(next_), Outcome::kTimedOut);
}

// WIRE-30: as the driver and beside it. A later wait is not canceled.
TEST_F(ConnectionTest, ACallOutlivesAWaitThatIsCanceled) {
  for (const bool is_driver : {true, false}) {
    held_.clear();
    ServeHeld();
    TaggedCall first(1), call(2);
    call.outlives_wait = true;
    std::jthread driver;
    if (!is_driver) {
      driver = std::jthread([&] { EXPECT_EQ(connection_->Execute(first), Outcome::kReplied); });
      seen_.acquire();
    }
    protocol::Cancellation interrupt;
    std::jthread waiter([&] {
      const protocol::CancelScope scope(interrupt);
      EXPECT_EQ(connection_->Execute(call), Outcome::kPending);
      EXPECT_EQ(connection_->Wait(call), Outcome::kPending);
    });
    seen_.acquire();
    interrupt.Cancel();
    waiter.join();
    for (const FakeCall& held : held_) server_->SendReply(held, kNoEntry);
    EXPECT_EQ(connection_->Wait(call), Outcome::kReplied);
  }
}

// WIRE-30.
TEST_F(ConnectionTest, ACallThatOutlivedItsWaitIsLostWithItsConnectionAndKeepsItsXid) {
  ServeHeld();
  LeaveInFlight(call_);
  connection_->Abort(call_);
  EXPECT_EQ(connection_->Wait(call_), Outcome::kLost);
  connection_->Submit(call_);
  std::jthread waiter([this] { EXPECT_EQ(connection_->Wait(call_), Outcome::kReplied); });
  seen_.acquire();
  server_->SendReply(held_.back(), kNoEntry);
  waiter.join();
  EXPECT_EQ(held_.front().xid, held_.back().xid);
  EXPECT_EQ(held_.back().connection, 2);
}

// WIRE-30.
TEST_F(ConnectionTest, ACallThatWasNotSentDoesNotOutliveItsWait) {
  connection_ = OpenConnection(UnusedPort(), kLong);
  call_.outlives_wait = true;
  call_.deadline = Call::Clock::now() + milliseconds{50};
  EXPECT_EQ(connection_->Execute(call_), Outcome::kTimedOut);
  EXPECT_FALSE(call_.was_sent());
  EXPECT_EQ(connection_->load(), 0u);
}

// WIRE-30: it is freed then.
TEST_F(ConnectionTest, TheLateReplyOfACallThatWasWithdrawnIsDropped) {
  ServeHeld();
  {
    TaggedCall call(3);
    LeaveInFlight(call);
    EXPECT_EQ(connection_->Withdraw(call), Outcome::kTimedOut);
  }
  EXPECT_EQ(connection_->load(), 0u);
  server_->SendReply(held_.front(), kNoEntry);
  std::jthread waiter([this] { EXPECT_EQ(connection_->Execute(call_), Outcome::kReplied); });
  seen_.acquire();
  server_->SendReply(held_.back(), kNoEntry);
  waiter.join();
  EXPECT_EQ(connection_->connections_opened(), 1u);
}

// WIRE-30.
TEST_F(ConnectionTest, ShutdownEndsACallThatOutlivedItsWait) {
  ServeHeld();
  LeaveInFlight(call_);
  connection_->Shutdown();
  EXPECT_EQ(connection_->Wait(call_), Outcome::kCanceled);
}

// WIRE-2: with a reserved port and without, whoever ends the connection and however.
TEST_F(ConnectionTest, ACallSentAgainKeepsItsXidAndTheConnectionItsPort) {
  const FakeAnswer end{FakeAnswer::Kind::kRaw};
  for (const bool reserved : {true, false}) {
    std::optional<NoReservedPorts> unreserved;
    if (!reserved) unreserved.emplace();
    std::vector<FakeCall> seen;
    Serve(OnNfsCall([&](const FakeCall& call) {
      seen.push_back(call);
      return seen.size() == 1   ? kSilence
             : seen.size() == 2 ? kHangUp
             : seen.size() == 3 ? end
                                : kNoEntry;
    }));
    TaggedCall call(1);
    call.deadline = Call::Clock::now() + milliseconds{50};
    EXPECT_EQ(connection_->Execute(call), Outcome::kTimedOut);
    call.deadline = Call::Clock::time_point::max();
    EXPECT_EQ(connection_->Execute(call), Outcome::kLost);
    EXPECT_EQ(connection_->Execute(call), Outcome::kLost);
    for (int aborts = 0; aborts < 20; ++aborts) {
      EXPECT_EQ(connection_->Execute(call), Outcome::kReplied);
      connection_->Abort(call);
    }
    server_.reset();
    const int connections[] = {1, 1, 2, 3};
    ASSERT_GT(seen.size(), std::size(connections));
    for (size_t i = 0; i < seen.size(); ++i) {
      EXPECT_EQ(seen[i].xid, seen[0].xid);
      EXPECT_EQ(seen[i].client_port, seen[0].client_port);
      if (i < std::size(connections)) {
        EXPECT_EQ(seen[i].connection, connections[i]);
      }
    }
  }
}

TEST_F(ConnectionTest, AbortReplacesTheConnectionOfTheCallAlone) {
  Serve(OnNfsCall([](const FakeCall&) { return kNoEntry; }));
  EXPECT_EQ(connection_->Execute(call_), Outcome::kReplied);
  connection_->Abort(call_);
  connection_->Abort(call_);
  EXPECT_EQ(connection_->Execute(next_), Outcome::kReplied);
  connection_->Abort(call_);
  EXPECT_EQ(connection_->Execute(next_), Outcome::kReplied);
  EXPECT_EQ(connection_->connections_opened(), 2u);
}

TEST_F(ConnectionTest, ACallWithoutAConnectionTimesOutUnsent) {
  connection_ = OpenConnection(UnusedPort(), kLong);
  call_.deadline = Call::Clock::now() + milliseconds{50};
  EXPECT_EQ(connection_->Execute(call_), Outcome::kTimedOut);
  EXPECT_FALSE(call_.was_sent());
}

TEST_F(ConnectionTest, AFailFastCallReportsARefusedPort) {
  connection_ = OpenConnection(UnusedPort(), kLong);
  EXPECT_EQ(ConnectAndExecute(call_), Outcome::kUnreachable);
  EXPECT_EQ(call_.connect_errno(), ECONNREFUSED);
  EXPECT_FALSE(call_.was_sent());
}

TEST_F(ConnectionTest, AServerThatSpeaksAnotherProtocolLosesItsConnection) {
  Serve([](const FakeCall&) { return kHttpAnswer; });
  EXPECT_EQ(ConnectAndExecute(call_), Outcome::kLost);
}

// WIRE-13.
// The records of a CALL of the server's, with xid and program of its own, and of the reply to
// `call`.
std::string CallAndReply(const FakeCall& call, uint32_t xid) {
  constexpr uint32_t kLastFragment = 0x80000000;
  const std::string calls[] = {
      Xdr().U32(xid, 0, 2, 0x40000000, 1, 0, 0, 0, 0, 0).str(),  // CB_NULL by AUTH_NONE
      MessageOf(call, kNoEntry)};
  Xdr records;
  for (const std::string& record : calls) records.U32(kLastFragment | record.size()).Raw(record);
  return records.str();
}

TEST_F(ConnectionTest, ACallOfTheServerIsIgnoredWhateverItsXid) {
  for (const bool has_our_xid : {false, true}) {
    Serve(OnNfsCall([&](const FakeCall& call) {
      const uint32_t xid = has_our_xid ? call.xid : call.xid + 1;
      return FakeAnswer{.kind = FakeAnswer::Kind::kRaw,
                        .bytes = CallAndReply(call, xid),
                        .after = FakeAnswer::After::kRead};
    }));
    for (int i = 0; i < 2; ++i) {
      TaggedCall call(1);
      EXPECT_EQ(connection_->Execute(call), Outcome::kReplied) << has_our_xid;
    }
    EXPECT_EQ(connection_->connections_opened(), 1u) << has_our_xid;
  }
}

TEST_F(ConnectionTest, CallsOfTheServerWithoutEndCostItTheConnection) {
  Serve(OnNfsCall([&](const FakeCall& call) {
    FakeAnswer flood{.kind = FakeAnswer::Kind::kRaw, .after = FakeAnswer::After::kRead};
    for (uint32_t i = 0; i < Connection::kStraysMax; ++i) {
      flood.bytes += CallAndReply(call, i).substr(0, 4 + 10 * 4);
    }
    return call.connection == 1 ? flood : kNoEntry;
  }));
  EXPECT_EQ(connection_->Execute(call_), Outcome::kLost);
  EXPECT_EQ(connection_->Execute(next_), Outcome::kReplied);
}

TEST_F(ConnectionTest, ARejectionIsReportedWithItsReasonAndKeepsTheConnection) {
  using Kind = FakeAnswer::Kind;
  const struct {
    FakeAnswer answer;
    RejectReason reason;
  } rows[] = {{{Kind::kDeny, {}, 1}, RejectReason::kDenied},
              {{Kind::kRefuse, {}, 1}, RejectReason::kProgramUnavailable},
              {{Kind::kRefuse, {}, 2}, RejectReason::kVersionMismatch},
              {{Kind::kRefuse, {}, 3}, RejectReason::kProcedureUnavailable},
              {{Kind::kRefuse, {}, 4}, RejectReason::kGarbageArguments},
              {{Kind::kRefuse, {}, 5}, RejectReason::kSystemError},
              {{Kind::kRefuse, {}, 6}, RejectReason::kMalformedReply}};
  for (const auto& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.reason));
    Serve(
        OnNfsCall([&](const FakeCall& call) { return TagOf(call) == 1 ? row.answer : kNoEntry; }));
    EXPECT_EQ(connection_->Execute(call_), Outcome::kRejected);
    EXPECT_EQ(call_.reject_reason(), row.reason);
    EXPECT_EQ(connection_->Execute(next_), Outcome::kReplied);
    EXPECT_EQ(connection_->connections_opened(), 1u);
  }
}

// WIRE-6.
TEST_F(ConnectionTest, ShutdownCancelsCallsInFlightAndLaterOnes) {
  ServeSilence();
  std::jthread waiter([this] { EXPECT_EQ(connection_->Execute(call_), Outcome::kCanceled); });
  seen_.acquire();
  connection_->Shutdown();
  waiter.join();
  EXPECT_EQ(connection_->Execute(next_), Outcome::kCanceled);
}

TEST_F(ConnectionTest, ShutdownEndsCallsThatWaitForAConnection) {
  connection_ = OpenConnection(UnusedPort(), kLong);
  std::jthread waiter([this] { EXPECT_EQ(connection_->Execute(call_), Outcome::kCanceled); });
  connection_->Shutdown();
  waiter.join();
}

TEST_F(ConnectionTest, ManyThreadsShareOneConnection) {
  Serve(OnNfsCall([](const FakeCall& call) { return StatusAnswer(TagOf(call)); }));
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kCallsPerThread = 200;
  std::atomic<uint32_t> right{0};
  {
    std::vector<std::jthread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (uint32_t i = 0; i < kCallsPerThread; ++i) {
          // Any status but NFS3_OK, whose reply would need attributes.
          const uint32_t tag = 1 + t * kCallsPerThread + i;
          TaggedCall call(tag);
          const Outcome outcome = connection_->Execute(call);
          right += outcome == Outcome::kReplied && call.status() == static_cast<int>(tag);
        }
      });
    }
  }
  EXPECT_EQ(right, kThreads * kCallsPerThread);
  EXPECT_EQ(connection_->connections_opened(), 1u);
}

}  // namespace
}  // namespace nfswalk::rpc
