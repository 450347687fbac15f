#include "nfsclient/protocol/rpc_retry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>

#include "tests/unit/nfsclient/protocol/fake_server.h"
#include "tests/unit/nfsclient/protocol/tagged_call.h"

namespace nfswalk::protocol {
namespace {

constexpr TransportOptions kHard{};
constexpr TransportOptions kSoft{
    .nconnect = 1, .hard = false, .timeo_ds = 1, .retrans = 1, .mount_timeout_ms = 10'000};

class RpcRetryTest : public testing::Test {
 protected:
  // Answers the first `count` calls with `first`, the others with NFS3ERR_NOENT.
  void Serve(int count, const FakeAnswer& first, const TransportOptions& options) {
    server_.emplace(OnNfsCall([this, count, first](const FakeCall&) {
      seen_.release();
      return ++calls_ <= count ? first : kNoEntry;
    }));
    Connect(server_->port(), options);
  }
  void Connect(uint16_t port, const TransportOptions& options) {
    channel_ = OpenChannel(port, std::chrono::seconds{10});
    retry_.emplace(options);
    budget_ = retry_->NewBudget();
  }
  SendResult Send(bool idempotent) { return retry_->Send(*channel_, call_, idempotent, *budget_); }

  std::counting_semaphore<> seen_{0};
  std::atomic<int> calls_ = 0;
  std::optional<FakeServer> server_;
  std::unique_ptr<RpcChannel> channel_;
  std::optional<RpcRetry> retry_;
  std::optional<RpcRetry::Budget> budget_;
  TaggedCall call_{1};
};

TEST_F(RpcRetryTest, AnIdempotentCallIsSentAgainOverANewConnection) {
  Serve(2, kHangUp, kHard);
  EXPECT_EQ(Send(true).kind, SendResult::Kind::kReplied);
  EXPECT_EQ(call_.status(), NFS3ERR_NOENT);
  EXPECT_EQ(retry_->retries(), 2u);
  EXPECT_EQ(channel_->connections_opened(), 3u);
}

// WIRE-2.
TEST_F(RpcRetryTest, TheOutcomeOfANonIdempotentCallIsUnknownOnceItsConnectionDied) {
  Serve(1, kHangUp, kHard);
  EXPECT_EQ(Send(false).kind, SendResult::Kind::kOutcomeUnknown);
  EXPECT_EQ(retry_->retries(), 0u);
}

// WIRE-1.
TEST_F(RpcRetryTest, AHardMountRepeatsACallWithoutAReply) {
  TransportOptions options = kHard;
  options.timeo_ds = 1;
  Serve(1, kSilence, options);
  EXPECT_EQ(Send(true).kind, SendResult::Kind::kReplied);
  EXPECT_EQ(retry_->retries(), 1u);
}

// WIRE-1.
TEST_F(RpcRetryTest, ASoftMountTimesOutAfterRetransRepetitions) {
  Serve(100, kSilence, kSoft);
  const SendResult result = Send(true);
  EXPECT_EQ(result.kind, SendResult::Kind::kFailed);
  EXPECT_EQ(result.error, std::errc::timed_out);
  EXPECT_GE(calls_, 1);
  EXPECT_LE(calls_, 2) << "once, and again for retrans=1";
}

TEST_F(RpcRetryTest, ASoftMountTimesOutWithoutAConnection) {
  Connect(UnusedPort(), kSoft);
  EXPECT_EQ(Send(false).error, std::errc::timed_out);
}

TEST_F(RpcRetryTest, AnExhaustedBudgetSendsNothing) {
  Serve(0, {}, kSoft);
  while (retry_->PauseForJukebox(*budget_) == std::errc{}) {
  }
  // The pauses end before the limit: wait for the rest.
  while (Send(true).kind == SendResult::Kind::kReplied) {
  }
  const int before = calls_;
  EXPECT_EQ(Send(true).error, std::errc::timed_out);
  EXPECT_EQ(calls_, before);
}

TEST_F(RpcRetryTest, ARejectionIsFinal) {
  Serve(1, {FakeAnswer::Kind::kDeny, {}, 1}, kHard);
  const SendResult result = Send(true);
  EXPECT_EQ(result.kind, SendResult::Kind::kFailed);
  EXPECT_EQ(result.error, std::errc::permission_denied);
}

TEST_F(RpcRetryTest, ShutdownEndsAPause) {
  RpcRetry retry(kHard);
  RpcRetry::Budget budget = retry.NewBudget();
  retry.Shutdown();
  EXPECT_EQ(retry.PauseForJukebox(budget), std::errc::operation_canceled);
}

TEST_F(RpcRetryTest, ShutdownOfTheChannelEndsARepeatedCall) {
  Serve(1'000'000, kHangUp, kHard);
  std::jthread closer([&] {
    seen_.acquire();
    seen_.acquire();
    channel_->Shutdown();
  });
  EXPECT_EQ(Send(true).error, std::errc::operation_canceled);
}

}  // namespace
}  // namespace nfswalk::protocol
