#include "nfsclient/protocol/rpc_retry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <thread>

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

std::unique_ptr<RpcChannel> OpenChannel(uint16_t port) {
  return std::move(RpcChannel::Open(NfsEndpoint(port), seconds{10}).value());
}

// Answers the first `count` calls with `first`, the others with kNoEntry.
FakeServer::Handler First(int count, FakeAnswer::Kind first) {
  auto left = std::make_shared<int>(count);
  return [left, first](const FakeCall& call) {
    if (call.procedure == 0) return FakeAnswer{};
    return (*left)-- > 0 ? FakeAnswer{first, {}, 1} : StatusAnswer(kNoEntry);
  };
}

constexpr TransportOptions kHard{};
constexpr TransportOptions kSoft{
    .nconnect = 1, .hard = false, .timeo_ds = 1, .retrans = 1, .mount_timeout_ms = 10'000};

TEST(RpcRetry, AnIdempotentCallIsSentAgainOverANewConnection) {
  FakeServer server(First(2, FakeAnswer::Kind::kHangUp));
  const auto channel = OpenChannel(server.port());
  RpcRetry retry(kHard);
  RpcRetry::Budget budget = retry.NewBudget();
  TaggedCall call(1);
  EXPECT_EQ(retry.Send(*channel, call, true, budget).kind, SendResult::Kind::kReplied);
  EXPECT_EQ(call.status(), static_cast<int>(kNoEntry));
  EXPECT_EQ(retry.retries(), 2u);
  EXPECT_EQ(channel->connections_opened(), 3u);
}

// WIRE-2.
TEST(RpcRetry, TheOutcomeOfANonIdempotentCallIsUnknownOnceItsConnectionDied) {
  FakeServer server(First(1, FakeAnswer::Kind::kHangUp));
  const auto channel = OpenChannel(server.port());
  RpcRetry retry(kHard);
  RpcRetry::Budget budget = retry.NewBudget();
  TaggedCall call(1);
  EXPECT_EQ(retry.Send(*channel, call, false, budget).kind, SendResult::Kind::kOutcomeUnknown);
  EXPECT_EQ(retry.retries(), 0u);
}

// WIRE-1.
TEST(RpcRetry, AHardMountRepeatsACallWithoutAReply) {
  FakeServer server(First(1, FakeAnswer::Kind::kSilence));
  const auto channel = OpenChannel(server.port());
  TransportOptions options = kHard;
  options.timeo_ds = 1;
  RpcRetry retry(options);
  RpcRetry::Budget budget = retry.NewBudget();
  TaggedCall call(1);
  EXPECT_EQ(retry.Send(*channel, call, true, budget).kind, SendResult::Kind::kReplied);
  EXPECT_EQ(retry.retries(), 1u);
}

// WIRE-1.
TEST(RpcRetry, ASoftMountTimesOutAfterRetransRepetitions) {
  std::atomic<int> seen = 0;
  FakeServer server([&](const FakeCall& call) {
    if (call.procedure == 0) return FakeAnswer{};
    ++seen;
    return FakeAnswer{FakeAnswer::Kind::kSilence, {}, 0};
  });
  const auto channel = OpenChannel(server.port());
  RpcRetry retry(kSoft);
  RpcRetry::Budget budget = retry.NewBudget();
  TaggedCall call(1);
  const SendResult result = retry.Send(*channel, call, true, budget);
  EXPECT_EQ(result.kind, SendResult::Kind::kFailed);
  EXPECT_EQ(result.error, std::errc::timed_out);
  EXPECT_GE(seen, 1);
  EXPECT_LE(seen, 2) << "once, and again for retrans=1";
}

TEST(RpcRetry, ASoftMountTimesOutWithoutAConnection) {
  const auto channel = OpenChannel(fixtures::UnusedPort());
  RpcRetry retry(kSoft);
  RpcRetry::Budget budget = retry.NewBudget();
  TaggedCall call(1);
  EXPECT_EQ(retry.Send(*channel, call, false, budget).error, std::errc::timed_out);
}

TEST(RpcRetry, AnExhaustedBudgetSendsNothing) {
  FakeServer server(First(0, FakeAnswer::Kind::kReply));
  const auto channel = OpenChannel(server.port());
  RpcRetry retry(kSoft);
  RpcRetry::Budget budget = retry.NewBudget();
  while (retry.PauseForJukebox(budget) == std::errc{}) {
  }
  TaggedCall call(1);
  // The pauses end before the limit: wait for the rest.
  while (retry.Send(*channel, call, true, budget).kind == SendResult::Kind::kReplied) {
  }
  EXPECT_EQ(retry.Send(*channel, call, true, budget).error, std::errc::timed_out);
}

TEST(RpcRetry, ARejectionIsFinal) {
  FakeServer server(First(1, FakeAnswer::Kind::kDeny));
  const auto channel = OpenChannel(server.port());
  RpcRetry retry(kHard);
  RpcRetry::Budget budget = retry.NewBudget();
  TaggedCall call(1);
  const SendResult result = retry.Send(*channel, call, true, budget);
  EXPECT_EQ(result.kind, SendResult::Kind::kFailed);
  EXPECT_EQ(result.error, std::errc::permission_denied);
}

TEST(RpcRetry, ShutdownEndsAPause) {
  RpcRetry retry(kHard);
  RpcRetry::Budget budget = retry.NewBudget();
  retry.Shutdown();
  EXPECT_EQ(retry.PauseForJukebox(budget), std::errc::operation_canceled);
}

TEST(RpcRetry, ShutdownOfTheChannelEndsARepeatedCall) {
  std::counting_semaphore<> seen(0);
  FakeServer server([&](const FakeCall& call) {
    if (call.procedure == 0) return FakeAnswer{};
    seen.release();
    return FakeAnswer{FakeAnswer::Kind::kHangUp, {}, 0};
  });
  const auto channel = OpenChannel(server.port());
  RpcRetry retry(kHard);
  std::jthread closer([&] {
    seen.acquire();
    seen.acquire();
    channel->Shutdown();
  });
  RpcRetry::Budget budget = retry.NewBudget();
  TaggedCall call(1);
  EXPECT_EQ(retry.Send(*channel, call, true, budget).error, std::errc::operation_canceled);
}

}  // namespace
}  // namespace nfswalk::protocol
