#include "nfsclient/protocol/rpc_channel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "tests/fixtures/fake_server.h"
#include "tests/unit/nfsclient/protocol/tagged_call.h"

namespace nfswalk::protocol {
namespace {

using fixtures::FakeAnswer;
using fixtures::FakeCall;
using fixtures::FakeServer;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kNoEntry = 2;
constexpr seconds kLong{60};

std::unique_ptr<RpcChannel> OpenChannel(uint16_t port, milliseconds connect_timeout = kLong) {
  return std::move(RpcChannel::Open(NfsEndpoint(port), connect_timeout).value());
}

// Answers NULL; passes other calls to `on_call`.
FakeServer::Handler WithNull(FakeServer::Handler on_call) {
  return [on_call = std::move(on_call)](const FakeCall& call) {
    return call.procedure == 0 ? FakeAnswer{} : on_call(call);
  };
}

TEST(RpcChannel, ACallIsAnsweredOnAConnectionOpenedForIt) {
  FakeServer server(WithNull([](const FakeCall&) { return StatusAnswer(kNoEntry); }));
  const auto channel = OpenChannel(server.port());
  EXPECT_EQ(channel->connections_opened(), 0u);
  TaggedCall call(1);
  EXPECT_EQ(channel->Execute(call), CallOutcome::kReplied);
  EXPECT_EQ(call.status(), static_cast<int>(kNoEntry));
  EXPECT_EQ(channel->connections_opened(), 1u);
  EXPECT_EQ(channel->calls_sent(), 2u) << "NULL and the call";
}

TEST(RpcChannel, AFinishedCallMayBeSubmittedAgain) {
  FakeServer server(WithNull([](const FakeCall&) { return StatusAnswer(kNoEntry); }));
  const auto channel = OpenChannel(server.port());
  TaggedCall call(1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(channel->Execute(call), CallOutcome::kReplied);
  EXPECT_EQ(channel->calls_sent(), 4u);
}

TEST(RpcChannel, AtMostTheLimitIsInFlight) {
  std::deque<FakeCall> held;
  size_t most_held = 0;
  std::atomic<bool> release = false;
  std::counting_semaphore<> full(0);
  FakeServer* self = nullptr;
  FakeServer server(WithNull([&](const FakeCall& call) {
    if (release) return StatusAnswer(kNoEntry);
    held.push_back(call);
    most_held = std::max(most_held, held.size());
    if (held.size() == RpcChannel::kInFlightMax) full.release();
    return FakeAnswer{FakeAnswer::Kind::kSilence, {}, 0};
  }));
  self = &server;
  const auto channel = OpenChannel(server.port());
  constexpr size_t kCalls = RpcChannel::kInFlightMax + 100;
  std::deque<TaggedCall> calls;
  for (uint32_t i = 0; i < kCalls; ++i) channel->Submit(calls.emplace_back(i));
  full.acquire();
  release = true;
  for (const FakeCall& call : held) self->Reply(call, StatusAnswer(kNoEntry).bytes);
  for (TaggedCall& call : calls) EXPECT_EQ(call.Wait(), CallOutcome::kReplied);
  EXPECT_EQ(most_held, RpcChannel::kInFlightMax);
  EXPECT_EQ(channel->calls_sent(), kCalls + 1);
}

TEST(RpcChannel, CallsInFlightAreLostWithTheirConnectionAndTheNextCallOpensAnother) {
  FakeServer server(WithNull([](const FakeCall& call) {
    return call.connection == 1 ? FakeAnswer{FakeAnswer::Kind::kHangUp, {}, 0}
                                : StatusAnswer(kNoEntry);
  }));
  const auto channel = OpenChannel(server.port());
  TaggedCall lost(1);
  EXPECT_EQ(channel->Execute(lost), CallOutcome::kLost);
  EXPECT_TRUE(lost.was_sent());
  TaggedCall next(2);
  EXPECT_EQ(channel->Execute(next), CallOutcome::kReplied);
  EXPECT_EQ(channel->connections_opened(), 2u);
}

// WIRE-5.
TEST(RpcChannel, AnOverdueCallTimesOutAndOthersOnItsConnectionAreLost) {
  std::counting_semaphore<> seen(0);
  FakeServer server(WithNull([&](const FakeCall&) {
    seen.release();
    return FakeAnswer{FakeAnswer::Kind::kSilence, {}, 0};
  }));
  const auto channel = OpenChannel(server.port());
  TaggedCall patient(1);
  patient.deadline = RpcCall::Clock::now() + kLong;
  channel->Submit(patient);
  seen.acquire();
  TaggedCall hasty(2);
  hasty.deadline = RpcCall::Clock::now() + milliseconds{50};
  EXPECT_EQ(channel->Execute(hasty), CallOutcome::kTimedOut);
  EXPECT_EQ(patient.Wait(), CallOutcome::kLost);
  EXPECT_TRUE(patient.was_sent());
}

TEST(RpcChannel, ACallWithoutAConnectionTimesOutUnsent) {
  const auto channel = OpenChannel(fixtures::UnusedPort());
  TaggedCall call(1);
  call.deadline = RpcCall::Clock::now() + milliseconds{50};
  EXPECT_EQ(channel->Execute(call), CallOutcome::kTimedOut);
  EXPECT_FALSE(call.was_sent());
}

TEST(RpcChannel, AFailFastCallReportsARefusedPort) {
  const auto channel = OpenChannel(fixtures::UnusedPort());
  TaggedCall call(1);
  call.fail_if_unreachable = true;
  EXPECT_EQ(channel->Execute(call), CallOutcome::kUnreachable);
  EXPECT_EQ(call.connect_errno(), ECONNREFUSED);
  EXPECT_FALSE(call.was_sent());
}

TEST(RpcChannel, ASilentServerIsUnreachableAfterTheConnectTimeout) {
  FakeServer server([](const FakeCall&) { return FakeAnswer{FakeAnswer::Kind::kSilence, {}, 0}; });
  const auto channel = OpenChannel(server.port(), milliseconds{50});
  TaggedCall call(1);
  call.fail_if_unreachable = true;
  EXPECT_EQ(channel->Execute(call), CallOutcome::kUnreachable);
  EXPECT_EQ(call.connect_errno(), ETIMEDOUT);
}

TEST(RpcChannel, AServerThatSpeaksAnotherProtocolIsUnreachable) {
  FakeServer server([](const FakeCall&) {
    return FakeAnswer{FakeAnswer::Kind::kRaw, "HTTP/1.1 400 Bad Request\r\n\r\n", 0};
  });
  const auto channel = OpenChannel(server.port());
  TaggedCall call(1);
  call.fail_if_unreachable = true;
  EXPECT_EQ(channel->Execute(call), CallOutcome::kUnreachable);
  EXPECT_EQ(channel->connections_opened(), 0u);
}

TEST(RpcChannel, AnUnavailableProgramIsReportedWhenConnecting) {
  FakeServer server([](const FakeCall&) { return FakeAnswer{FakeAnswer::Kind::kRefuse, {}, 1}; });
  const auto channel = OpenChannel(server.port());
  TaggedCall call(1);
  call.fail_if_unreachable = true;
  EXPECT_EQ(channel->Execute(call), CallOutcome::kUnreachable);
  EXPECT_NE(call.failure_text().find("Program not available"), std::string::npos)
      << call.failure_text();
}

struct Rejection {
  FakeAnswer::Kind kind;
  uint32_t number;
  RejectReason reason;
};

class RpcChannelRejection : public testing::TestWithParam<Rejection> {};

// WIRE-13.
TEST_P(RpcChannelRejection, IsReportedWithItsReasonAndKeepsTheConnection) {
  const Rejection& rejection = GetParam();
  FakeServer server(WithNull([&](const FakeCall& call) {
    return TagOf(call) == 1 ? FakeAnswer{rejection.kind, {}, rejection.number}
                            : StatusAnswer(kNoEntry);
  }));
  const auto channel = OpenChannel(server.port());
  TaggedCall rejected(1);
  EXPECT_EQ(channel->Execute(rejected), CallOutcome::kRejected);
  EXPECT_EQ(rejected.reject_reason(), rejection.reason);
  TaggedCall next(2);
  EXPECT_EQ(channel->Execute(next), CallOutcome::kReplied);
  EXPECT_EQ(channel->connections_opened(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    All, RpcChannelRejection,
    testing::Values(Rejection{FakeAnswer::Kind::kDeny, 1, RejectReason::kDenied},
                    Rejection{FakeAnswer::Kind::kRefuse, 1, RejectReason::kProgramUnavailable},
                    Rejection{FakeAnswer::Kind::kRefuse, 2, RejectReason::kVersionMismatch},
                    Rejection{FakeAnswer::Kind::kRefuse, 3, RejectReason::kProcedureUnavailable},
                    Rejection{FakeAnswer::Kind::kRefuse, 4, RejectReason::kGarbageArguments},
                    Rejection{FakeAnswer::Kind::kRefuse, 5, RejectReason::kSystemError}));

TEST(RpcChannel, ATruncatedReplyIsRejectedAsMalformed) {
  FakeServer server(WithNull([](const FakeCall&) {
    return FakeAnswer{FakeAnswer::Kind::kReply, std::string(2, '\0'), 0};
  }));
  const auto channel = OpenChannel(server.port());
  TaggedCall call(1);
  EXPECT_EQ(channel->Execute(call), CallOutcome::kRejected);
  EXPECT_EQ(call.reject_reason(), RejectReason::kMalformedReply);
}

// WIRE-6.
TEST(RpcChannel, ShutdownCancelsCallsInFlightAndLaterOnes) {
  std::counting_semaphore<> seen(0);
  FakeServer server(WithNull([&](const FakeCall&) {
    seen.release();
    return FakeAnswer{FakeAnswer::Kind::kSilence, {}, 0};
  }));
  const auto channel = OpenChannel(server.port());
  TaggedCall in_flight(1);
  channel->Submit(in_flight);
  seen.acquire();
  channel->Shutdown();
  EXPECT_EQ(in_flight.Wait(), CallOutcome::kCanceled);
  TaggedCall late(2);
  EXPECT_EQ(channel->Execute(late), CallOutcome::kCanceled);
}

TEST(RpcChannel, ShutdownEndsCallsThatWaitForAConnection) {
  const auto channel = OpenChannel(fixtures::UnusedPort());
  TaggedCall waiting(1);
  channel->Submit(waiting);
  channel->Shutdown();
  EXPECT_EQ(waiting.Wait(), CallOutcome::kCanceled);
}

TEST(RpcChannel, ManyThreadsShareOneConnection) {
  FakeServer server(WithNull([](const FakeCall& call) { return StatusAnswer(TagOf(call)); }));
  const auto channel = OpenChannel(server.port());
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
          const CallOutcome outcome = channel->Execute(call);
          right += outcome == CallOutcome::kReplied && call.status() == static_cast<int>(tag);
        }
      });
    }
  }
  EXPECT_EQ(right, kThreads * kCallsPerThread);
  EXPECT_EQ(channel->connections_opened(), 1u);
}

}  // namespace
}  // namespace nfswalk::protocol
