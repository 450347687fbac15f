#include "nfsclient/protocol/rpc_channel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include "tests/unit/nfsclient/protocol/fake_server.h"
#include "tests/unit/nfsclient/protocol/tagged_call.h"

namespace nfswalk::protocol {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLong{60};

// A server whose handler is given, and a channel to it.
class RpcChannelTest : public testing::Test {
 protected:
  void Serve(FakeServer::Handler handler, milliseconds connect_timeout = kLong) {
    server_.emplace(std::move(handler));
    channel_ = OpenChannel(server_->port(), connect_timeout);
  }
  // Answers NULL; signals other calls and does not answer them.
  void ServeSilence() {
    Serve(OnNfsCall([this](const FakeCall&) {
      seen_.release();
      return kSilence;
    }));
  }
  // Executes `call` as the first one of a mount.
  CallOutcome ConnectAndExecute(TaggedCall& call) {
    call.fail_if_unreachable = true;
    return channel_->Execute(call);
  }

  std::counting_semaphore<> seen_{0};
  std::optional<FakeServer> server_;
  std::unique_ptr<RpcChannel> channel_;
  TaggedCall call_{1}, next_{2};
};

TEST_F(RpcChannelTest, CallsAreAnsweredOnAConnectionOpenedForTheFirst) {
  Serve(OnNfsCall([](const FakeCall&) { return kNoEntry; }));
  EXPECT_EQ(channel_->connections_opened(), 0u);
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(channel_->Execute(call_), CallOutcome::kReplied);
    EXPECT_EQ(call_.status(), NFS3ERR_NOENT);
    EXPECT_EQ(channel_->connections_opened(), 1u);
    EXPECT_EQ(channel_->calls_sent(), 1 + i) << "NULL and the calls";
  }
}

TEST_F(RpcChannelTest, AtMostTheLimitIsInFlight) {
  std::deque<FakeCall> held;
  size_t most_held = 0;
  std::atomic<bool> release = false;
  Serve(OnNfsCall([&](const FakeCall& call) {
    if (release) return kNoEntry;
    held.push_back(call);
    most_held = std::max(most_held, held.size());
    if (held.size() == RpcChannel::kInFlightMax) seen_.release();
    return kSilence;
  }));
  constexpr size_t kCalls = RpcChannel::kInFlightMax + 100;
  std::deque<TaggedCall> calls;
  for (uint32_t i = 0; i < kCalls; ++i) channel_->Submit(calls.emplace_back(i));
  seen_.acquire();
  release = true;
  for (const FakeCall& call : held) server_->SendReply(call, kNoEntry);
  for (TaggedCall& call : calls) EXPECT_EQ(call.Wait(), CallOutcome::kReplied);
  EXPECT_EQ(most_held, RpcChannel::kInFlightMax);
  EXPECT_EQ(channel_->calls_sent(), kCalls + 1);
}

TEST_F(RpcChannelTest, CallsInFlightAreLostWithTheirConnectionAndTheNextCallOpensAnother) {
  Serve(OnNfsCall([](const FakeCall& call) { return call.connection == 1 ? kHangUp : kNoEntry; }));
  EXPECT_EQ(channel_->Execute(call_), CallOutcome::kLost);
  EXPECT_TRUE(call_.was_sent());
  EXPECT_EQ(channel_->Execute(next_), CallOutcome::kReplied);
  EXPECT_EQ(channel_->connections_opened(), 2u);
}

// WIRE-5.
TEST_F(RpcChannelTest, AnOverdueCallTimesOutAndOthersOnItsConnectionAreLost) {
  ServeSilence();
  call_.deadline = RpcCall::Clock::now() + kLong;
  channel_->Submit(call_);
  seen_.acquire();
  next_.deadline = RpcCall::Clock::now() + milliseconds{50};
  EXPECT_EQ(channel_->Execute(next_), CallOutcome::kTimedOut);
  EXPECT_EQ(call_.Wait(), CallOutcome::kLost);
  EXPECT_TRUE(call_.was_sent());
}

TEST_F(RpcChannelTest, ACallWithoutAConnectionTimesOutUnsent) {
  channel_ = OpenChannel(UnusedPort(), kLong);
  call_.deadline = RpcCall::Clock::now() + milliseconds{50};
  EXPECT_EQ(channel_->Execute(call_), CallOutcome::kTimedOut);
  EXPECT_FALSE(call_.was_sent());
}

TEST_F(RpcChannelTest, AFailFastCallReportsARefusedPort) {
  channel_ = OpenChannel(UnusedPort(), kLong);
  EXPECT_EQ(ConnectAndExecute(call_), CallOutcome::kUnreachable);
  EXPECT_EQ(call_.connect_errno(), ECONNREFUSED);
  EXPECT_FALSE(call_.was_sent());
}

TEST_F(RpcChannelTest, ASilentServerIsUnreachableAfterTheConnectTimeout) {
  Serve([](const FakeCall&) { return kSilence; }, milliseconds{50});
  EXPECT_EQ(ConnectAndExecute(call_), CallOutcome::kUnreachable);
  EXPECT_EQ(call_.connect_errno(), ETIMEDOUT);
}

TEST_F(RpcChannelTest, AServerThatSpeaksAnotherProtocolIsUnreachable) {
  Serve([](const FakeCall&) { return kHttpAnswer; });
  EXPECT_EQ(ConnectAndExecute(call_), CallOutcome::kUnreachable);
  EXPECT_EQ(channel_->connections_opened(), 0u);
}

TEST_F(RpcChannelTest, AnUnavailableProgramIsReportedWhenConnecting) {
  Serve([](const FakeCall&) { return kProgramUnavailable; });
  EXPECT_EQ(ConnectAndExecute(call_), CallOutcome::kUnreachable);
  EXPECT_NE(call_.failure_text().find("Program not available"), std::string::npos)
      << call_.failure_text();
}

// WIRE-13.
TEST_F(RpcChannelTest, ARejectionIsReportedWithItsReasonAndKeepsTheConnection) {
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
              {{Kind::kReply, std::string(2, '\0')}, RejectReason::kMalformedReply}};
  for (const auto& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.reason));
    Serve(
        OnNfsCall([&](const FakeCall& call) { return TagOf(call) == 1 ? row.answer : kNoEntry; }));
    EXPECT_EQ(channel_->Execute(call_), CallOutcome::kRejected);
    EXPECT_EQ(call_.reject_reason(), row.reason);
    EXPECT_EQ(channel_->Execute(next_), CallOutcome::kReplied);
    EXPECT_EQ(channel_->connections_opened(), 1u);
  }
}

// WIRE-6.
TEST_F(RpcChannelTest, ShutdownCancelsCallsInFlightAndLaterOnes) {
  ServeSilence();
  channel_->Submit(call_);
  seen_.acquire();
  channel_->Shutdown();
  EXPECT_EQ(call_.Wait(), CallOutcome::kCanceled);
  EXPECT_EQ(channel_->Execute(next_), CallOutcome::kCanceled);
}

TEST_F(RpcChannelTest, ShutdownEndsCallsThatWaitForAConnection) {
  channel_ = OpenChannel(UnusedPort(), kLong);
  channel_->Submit(call_);
  channel_->Shutdown();
  EXPECT_EQ(call_.Wait(), CallOutcome::kCanceled);
}

TEST_F(RpcChannelTest, ManyThreadsShareOneConnection) {
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
          const CallOutcome outcome = channel_->Execute(call);
          right += outcome == CallOutcome::kReplied && call.status() == static_cast<int>(tag);
        }
      });
    }
  }
  EXPECT_EQ(right, kThreads * kCallsPerThread);
  EXPECT_EQ(channel_->connections_opened(), 1u);
}

}  // namespace
}  // namespace nfswalk::protocol
