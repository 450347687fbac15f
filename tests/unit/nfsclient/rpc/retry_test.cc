#include "nfsclient/rpc/retry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/protocol/cancellation.h"
#include "tests/fixtures/fake_server.h"
#include "tests/unit/nfsclient/rpc/tagged_call.h"

namespace nfswalk::rpc {
namespace {

const protocol::TransportOptions kHard{};
const protocol::TransportOptions kSoft{
    .nconnect = 1, .hard = false, .timeo_ds = 1, .retrans = 1, .mount_timeout_ms = 10'000};

class RetryTest : public testing::Test {
 protected:
  // Answers the first `count` calls with `first`, the others with NFS3ERR_NOENT.
  void Serve(int count, const FakeAnswer& first, const protocol::TransportOptions& options) {
    server_.emplace(OnNfsCall([this, count, first](const FakeCall&) {
      seen_.release();
      return ++calls_ <= count ? first : kNoEntry;
    }));
    Connect(server_->port(), options);
  }
  void Connect(uint16_t port, const protocol::TransportOptions& options) {
    connection_ = OpenConnection(port, std::chrono::seconds{10});
    retry_.emplace(options, NFS_V3);
    budget_ = retry_->NewBudget();
  }
  SendResult Send() { return Send(call_); }
  SendResult Send(Call& call) {
    Retry::Attempts attempts = Retry::Attempts::NotSubmitted();
    return retry_->Send(*connection_, call, *budget_, attempts);
  }
  // Submits a call that outlives its waits; Resume() waits for it.
  void Begin() {
    call_.outlives_wait = true;
    budget_ = retry_->NewBudgetOfCall();
    connection_->Submit(call_);
  }
  std::optional<SendResult> Resume(
      Call::Clock::time_point deadline = Call::Clock::time_point::max()) {
    const protocol::Deadline scope(deadline);
    return retry_->Resume(*connection_, call_, *budget_, attempts_);
  }
  std::optional<SendResult> ResumeShortly() {
    return Resume(Call::Clock::now() + std::chrono::milliseconds{20});
  }

  std::counting_semaphore<> seen_{0};
  std::atomic<int> calls_ = 0;
  std::optional<FakeServer> server_;
  std::unique_ptr<Connection> connection_;
  std::optional<Retry> retry_;
  std::optional<Retry::Budget> budget_;
  Retry::Attempts attempts_;
  TaggedCall call_{1};
};

// WIRE-2.
TEST_F(RetryTest, ACallIsSentAgainOverANewConnection) {
  Serve(2, kHangUp, kHard);
  const SendResult sent = Send();
  EXPECT_EQ(sent.error, std::errc{});
  EXPECT_TRUE(sent.repeated);
  EXPECT_EQ(call_.status(), NFS3ERR_NOENT);
  EXPECT_EQ(retry_->retries(), 2u);
  EXPECT_EQ(connection_->connections_opened(), 3u);
  TaggedCall next(2);
  EXPECT_FALSE(Send(next).repeated);
}

// WIRE-5: the connection brought another reply meanwhile.
TEST_F(RetryTest, AnOverdueCallOfVersion3IsSentAgainOverTheSameConnectionOnce) {
  std::vector<int> connections;  // that brought the call
  server_.emplace(OnNfsCall([&](const FakeCall& call) {
    if (TagOf(call) != 1) return kNoEntry;
    connections.push_back(call.connection);
    seen_.release();
    return connections.size() < 3 ? kSilence : kNoEntry;
  }));
  protocol::TransportOptions options = kHard;
  options.timeo_ds = 3;
  Connect(server_->port(), options);
  std::jthread other([this] {
    seen_.acquire();
    TaggedCall call(2);
    EXPECT_EQ(connection_->Execute(call), Outcome::kReplied);
  });
  EXPECT_EQ(Send().error, std::errc{});
  other.join();
  server_.reset();
  EXPECT_EQ(connections, (std::vector{1, 1, 2}));
}

// WIRE-5: an operation may take minutes, as COMMIT to a busy disk or the first access to an
// archive.
TEST_F(RetryTest, AnOverdueCallOfVersion4WaitsOnceMoreIfItsConnectionBringsOtherReplies) {
  std::vector<FakeCall> slow;
  server_.emplace(OnNfsCall([&](const FakeCall& call) {
    if (TagOf(call) != 1) return kNoEntry;
    slow.push_back(call);
    seen_.release();
    return kSilence;
  }));
  protocol::TransportOptions options = kHard;
  options.timeo_ds = 20;
  connection_ = OpenConnection(server_->port(), std::chrono::seconds{10});
  retry_.emplace(options, 4);
  budget_ = retry_->NewBudget();
  std::jthread others([&] {
    seen_.acquire();
    const auto end = Call::Clock::now() + std::chrono::milliseconds{2500};  // beyond timeo
    while (Call::Clock::now() < end) {
      TaggedCall call(2);
      EXPECT_EQ(connection_->Execute(call), Outcome::kReplied);
    }
    server_->SendReply(slow.front(), kNoEntry);
  });
  EXPECT_EQ(Send().error, std::errc{});
  others.join();
  EXPECT_EQ(slow.size(), 1u);
  EXPECT_EQ(connection_->connections_opened(), 1u);
}

struct Unanswered {
  std::string name;
  std::vector<FakeAnswer> first;  // answers to a call; the next one is a reply
};
class UnansweredCall : public RetryTest, public testing::WithParamInterface<Unanswered> {};

TEST_P(UnansweredCall, IsRepeatedByVersion4OverAnotherConnectionThoughOthersAreAnswered) {
  const std::vector<FakeAnswer>& first = GetParam().first;
  std::vector<int> connections;  // that brought the call
  server_.emplace(OnNfsCall([&](const FakeCall& call) {
    if (TagOf(call) != 1) return kNoEntry;
    connections.push_back(call.connection);
    return connections.size() <= first.size() ? first[connections.size() - 1] : kNoEntry;
  }));
  protocol::TransportOptions options = kHard;
  options.timeo_ds = 2;
  connection_ = OpenConnection(server_->port(), std::chrono::seconds{10});
  retry_.emplace(options, 4);
  budget_ = retry_->NewBudget();
  std::jthread others([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      TaggedCall call(2);
      (void)connection_->Execute(call);
    }
  });
  EXPECT_EQ(Send().error, std::errc{});
  others.request_stop();
  others.join();
  server_.reset();
  std::vector<int> expected(first.size() + 1);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(connections, expected);
}

// As nfs-ganesha does now and then, and as knfsd does with a repetition while it executes the
// first, whose reply goes to the connection that has ended.
INSTANTIATE_TEST_SUITE_P(All, UnansweredCall,
                         testing::Values(Unanswered{"First", {kSilence}},
                                         Unanswered{"Repetition", {kHangUp, kSilence}}),
                         [](const auto& test) { return test.param.name; });

TEST_F(RetryTest, AnOverdueCallOfVersion4ReplacesAConnectionThatBringsNothing) {
  std::vector<int> connections;  // that brought the call
  server_.emplace(OnNfsCall([&](const FakeCall& call) {
    connections.push_back(call.connection);
    return connections.size() < 2 ? kSilence : kNoEntry;
  }));
  protocol::TransportOptions options = kHard;
  options.timeo_ds = 6000;
  connection_ = OpenConnection(server_->port(), std::chrono::seconds{10});
  retry_.emplace(options, 4);
  budget_ = retry_->NewBudget();
  budget_->LimitAttempts(std::chrono::milliseconds{100});
  EXPECT_EQ(Send().error, std::errc{});
  server_.reset();
  EXPECT_EQ(connections, (std::vector{1, 2}));
}

TEST_F(RetryTest, ASoftMountOfVersion4TimesOutWhileItsConnectionBringsOtherReplies) {
  protocol::TransportOptions options = kSoft;
  options.retrans = 0;
  server_.emplace(
      OnNfsCall([&](const FakeCall& call) { return TagOf(call) == 1 ? kSilence : kNoEntry; }));
  connection_ = OpenConnection(server_->port(), std::chrono::seconds{10});
  retry_.emplace(options, 4);
  std::jthread others([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      TaggedCall call(2);
      EXPECT_EQ(connection_->Execute(call), Outcome::kReplied);
    }
  });
  for (int i = 0; i < 6; ++i) {
    budget_ = retry_->NewBudget();
    EXPECT_EQ(Send().error, std::errc::timed_out);
  }
  others.request_stop();
  others.join();
  EXPECT_EQ(connection_->connections_opened(), 1u);
}

// WIRE-5: the server's duplicate request cache knows it by then, since its repetition was answered.
TEST_F(RetryTest, ACallThatTheServerExecutesLateUndoesNoNewerOne) {
  uint32_t executed = 0;                                    // tag of the last one
  std::map<std::pair<uint16_t, uint32_t>, uint32_t> cache;  // port and xid
  const auto execute = [&](const FakeCall& call) {
    if (cache.try_emplace({call.client_port, call.xid}, TagOf(call)).second) executed = TagOf(call);
    return kNoEntry;
  };
  std::optional<FakeCall> late;
  server_.emplace(OnNfsCall([&](const FakeCall& call) {
    if (late) return execute(call);
    late = call;
    return kSilence;
  }));
  protocol::TransportOptions options = kHard;
  options.timeo_ds = 1;
  Connect(server_->port(), options);
  TaggedCall newer(2);
  EXPECT_EQ(Send().error, std::errc{});
  EXPECT_EQ(Send(newer).error, std::errc{});
  EXPECT_EQ(connection_->connections_opened(), 2u);
  server_.reset();
  execute(*late);
  EXPECT_EQ(executed, 2u);
}

// WIRE-1.
TEST_F(RetryTest, AHardMountRepeatsACallWithoutAReply) {
  protocol::TransportOptions options = kHard;
  options.timeo_ds = 1;
  Serve(1, kSilence, options);
  EXPECT_EQ(Send().error, std::errc{});
  EXPECT_EQ(retry_->retries(), 1u);
}

TEST_F(RetryTest, AServerIsSilentOnceTheRepetitionsAreInVainAndUntilItReplies) {
  for (const int silences : {1, 2, 3, 4}) {
    std::vector<bool> told;
    protocol::TransportOptions options = kHard;
    options.timeo_ds = 1;
    options.retrans = 1;
    options.on_server_responds = [&told](bool responds) { told.push_back(responds); };
    calls_ = 0;
    Serve(silences, kSilence, options);
    EXPECT_EQ(Send().error, std::errc{});
    EXPECT_EQ(told, silences < 2 ? std::vector<bool>{} : (std::vector{false, true})) << silences;
  }
}

// WIRE-1.
TEST_F(RetryTest, ASoftMountTimesOutAfterRetransRepetitions) {
  Serve(100, kSilence, kSoft);
  EXPECT_EQ(Send().error, std::errc::timed_out);
  EXPECT_GE(calls_, 1);
  EXPECT_LE(calls_, 2) << "once, and again for retrans=1";
}

TEST_F(RetryTest, ASoftMountTimesOutWithoutAConnection) {
  Connect(UnusedPort(), kSoft);
  EXPECT_EQ(Send().error, std::errc::timed_out);
}

// WIRE-30.
TEST_F(RetryTest, AWaitThatEndsLeavesTheCallInFlight) {
  std::optional<FakeCall> held;
  server_.emplace(OnNfsCall([&](const FakeCall& call) {
    held = call;
    seen_.release();
    return kSilence;
  }));
  Connect(server_->port(), kHard);
  Begin();
  EXPECT_FALSE(ResumeShortly());
  {
    protocol::Cancellation interrupt;
    const protocol::CancelScope scope(interrupt);
    interrupt.Cancel();
    EXPECT_FALSE(Resume());
  }
  seen_.acquire();
  server_->SendReply(*held, kNoEntry);
  const auto sent = Resume();
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->error, std::errc{});
  EXPECT_FALSE(sent->repeated);
  EXPECT_EQ(connection_->calls_sent(), 1u);
}

// WIRE-30.
TEST_F(RetryTest, TheWaitsForACallAddUpToItsTimeout) {
  std::vector<uint32_t> xids;
  server_.emplace(OnNfsCall([&](const FakeCall& call) {
    xids.push_back(call.xid);
    return xids.size() == 1 ? kSilence : kNoEntry;
  }));
  protocol::TransportOptions options = kHard;
  options.timeo_ds = 1;
  Connect(server_->port(), options);
  Begin();
  std::optional<SendResult> sent;
  int waits = 0;
  for (; !sent && waits < 100; ++waits) sent = ResumeShortly();
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->error, std::errc{});
  EXPECT_TRUE(sent->repeated);
  EXPECT_GE(waits, 3);
  server_.reset();
  EXPECT_EQ(xids, std::vector(2, xids.front()));
}

// WIRE-30.
TEST_F(RetryTest, ACallLostBetweenTwoWaitsIsSentAgain) {
  std::vector<FakeCall> seen;
  server_.emplace(OnNfsCall([&](const FakeCall& call) {
    seen.push_back(call);
    seen_.release();
    return seen.size() == 1 ? kSilence : kNoEntry;
  }));
  Connect(server_->port(), kHard);
  Begin();
  EXPECT_FALSE(ResumeShortly());
  seen_.acquire();
  connection_->Abort(call_);
  EXPECT_FALSE(Resume(Call::Clock::now())) << "lost, and not sent again without time";
  EXPECT_EQ(Resume()->error, std::errc{});
  server_.reset();
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].xid, seen[0].xid);
  EXPECT_EQ(seen[1].connection, 2);
}

// WIRE-30: though the connection brings the replies of others.
TEST_F(RetryTest, ASoftMountThatGivesUpEndsTheConnectionOfTheCall) {
  std::atomic<int> connections = 0;
  server_.emplace(OnNfsCall([&](const FakeCall& call) {
    connections = call.connection;
    if (TagOf(call) != 1) return kNoEntry;
    seen_.release();
    return kSilence;
  }));
  protocol::TransportOptions options = kSoft;
  options.timeo_ds = 3;
  options.retrans = 0;
  Connect(server_->port(), options);
  std::jthread other([this] {
    seen_.acquire();
    TaggedCall call(2);
    EXPECT_EQ(connection_->Execute(call), Outcome::kReplied);
  });
  Begin();
  EXPECT_EQ(Resume()->error, std::errc::timed_out);
  other.join();
  TaggedCall next(3);
  EXPECT_EQ(connection_->Execute(next), Outcome::kReplied);
  EXPECT_EQ(connections, 2);
}

// WIRE-30: the reply waits in the socket.
TEST_F(RetryTest, ASoftMountTakesAReplyThatCameBetweenTwoWaits) {
  std::optional<FakeCall> held;
  server_.emplace(OnNfsCall([&](const FakeCall& call) {
    if (TagOf(call) == 1) held = call;
    seen_.release();
    return kSilence;
  }));
  Connect(server_->port(), kSoft);
  Begin();
  EXPECT_FALSE(ResumeShortly());
  seen_.acquire();
  server_->SendReply(*held, kNoEntry);
  TaggedCall clock(2);
  clock.deadline = budget_->deadline();
  EXPECT_EQ(OpenConnection(server_->port(), std::chrono::seconds{10})->Execute(clock),
            Outcome::kTimedOut);
  EXPECT_EQ(Resume()->error, std::errc{});
}

// WIRE-30.
TEST_F(RetryTest, APauseIsGoneOnWith) {
  Retry retry(kHard, NFS_V3);
  Retry::Budget budget = retry.NewBudgetOfCall();
  {
    const protocol::Deadline passed(Call::Clock::now());
    EXPECT_EQ(retry.ResumePause(budget), std::nullopt);
    EXPECT_EQ(retry.ResumePause(budget), std::nullopt);
  }
  EXPECT_EQ(retry.ResumePause(budget), std::errc{});
  EXPECT_EQ(retry.retries(), 1u);
  retry.Shutdown();
  EXPECT_EQ(retry.ResumePause(budget), std::errc::operation_canceled);
}

TEST_F(RetryTest, AnExhaustedBudgetSendsNothing) {
  Serve(0, {}, kSoft);
  while (retry_->PauseForJukebox(*budget_) == std::errc{}) {
  }
  // The pauses end before the limit: wait for the rest.
  while (Send().error == std::errc{}) {
  }
  // The server may yet count the last one, whose time ended in flight.
  const uint64_t before = connection_->calls_sent();
  EXPECT_EQ(Send().error, std::errc::timed_out);
  EXPECT_EQ(connection_->calls_sent(), before);
}

TEST_F(RetryTest, ARejectionIsFinal) {
  Serve(1, {FakeAnswer::Kind::kDeny, {}, 1}, kHard);
  EXPECT_EQ(Send().error, std::errc::permission_denied);
}

TEST_F(RetryTest, ShutdownEndsAPause) {
  Retry retry(kHard, NFS_V3);
  Retry::Budget budget = retry.NewBudget();
  retry.Shutdown();
  EXPECT_EQ(retry.PauseForJukebox(budget), std::errc::operation_canceled);
}

TEST_F(RetryTest, ShutdownOfTheChannelEndsARepeatedCall) {
  Serve(1'000'000, kHangUp, kHard);
  std::jthread closer([&] {
    seen_.acquire();
    seen_.acquire();
    connection_->Shutdown();
  });
  EXPECT_EQ(Send().error, std::errc::operation_canceled);
}

}  // namespace
}  // namespace nfswalk::rpc
