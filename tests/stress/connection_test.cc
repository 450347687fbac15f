// Threads that share a connection, while calls time out, the connection is replaced and the server
// is silent, hangs up or answers late: each call ends, with its own reply.
#include "nfsclient/rpc/connection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/nfsclient/rpc/tagged_call.h"

namespace nfswalk::rpc {
namespace {

using std::chrono::milliseconds;

constexpr int kThreads = 8;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint32_t kCallsPerThread = 400;
#else
constexpr uint32_t kCallsPerThread = 2'000;
#endif

// Answers most calls; others late, never, or by hanging up.
class UnreliableServer {
 public:
  UnreliableServer() : server_(OnNfsCall([this](const FakeCall& call) { return Answer(call); })) {}
  uint16_t port() const { return server_.port(); }

 private:
  FakeAnswer Answer(const FakeCall& call) {
    if (!held_.empty() && random_() % 4 == 0) {
      server_.SendReply(held_.front(), StatusAnswer(TagOf(held_.front())));
      held_.pop_front();
    }
    const auto fate = random_() % 200;
    if (fate == 0) return kHangUp;
    if (fate == 1) return kSilence;
    if (fate < 20) {
      held_.push_back(call);
      return kSilence;
    }
    return StatusAnswer(TagOf(call));
  }

  std::minstd_rand random_{1};
  std::deque<FakeCall> held_;
  FakeServer server_;
};

struct Counts {
  std::atomic<uint32_t> replied{0};
  std::atomic<uint32_t> timed_out{0};
  std::atomic<uint32_t> lost{0};
  std::atomic<uint32_t> left_in_flight{0};
  std::atomic<uint32_t> wrong{0};
};

void CallAll(Connection& connection, uint32_t thread, Counts& counts) {
  std::minstd_rand random(thread + 1);
  for (uint32_t i = 0; i < kCallsPerThread; ++i) {
    // Any status but NFS3_OK, whose reply would need attributes.
    const uint32_t tag = 1 + thread * kCallsPerThread + i;
    TaggedCall call(tag);
    call.outlives_wait = random() % 2 == 0;
    call.deadline = Call::Clock::now() + milliseconds{1 + random() % 20};
    Outcome outcome = connection.Execute(call);
    while (outcome == Outcome::kPending) {
      ++counts.left_in_flight;
      call.deadline = Call::Clock::now() + milliseconds{random() % 10};
      outcome = random() % 4 == 0 ? connection.Withdraw(call) : connection.Wait(call);
    }
    switch (outcome) {
      case Outcome::kReplied:
        ++(call.status() == static_cast<int>(tag) ? counts.replied : counts.wrong);
        break;
      case Outcome::kTimedOut:
        ++counts.timed_out;
        if (random() % 4 == 0) connection.Abort(call);
        break;
      case Outcome::kLost:
        ++counts.lost;
        break;
      default:
        ++counts.wrong;
    }
  }
}

TEST(ConnectionStress, EachCallEndsWithItsOwnReply) {
  UnreliableServer server;
  const auto connection = OpenConnection(server.port(), milliseconds{10'000});
  Counts counts;
  {
    std::vector<std::jthread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] { CallAll(*connection, t, counts); });
    }
  }
  EXPECT_EQ(counts.wrong, 0u);
  EXPECT_GT(counts.replied, kThreads * kCallsPerThread / 4);
  EXPECT_GT(counts.timed_out, 0u);
  EXPECT_GT(counts.lost, 0u);
  EXPECT_GT(counts.left_in_flight, 0u);
  EXPECT_GT(connection->connections_opened(), 1u);
  EXPECT_EQ(connection->load(), 0u);
}

TEST(ConnectionStress, ShutdownEndsTheCallsOfAllThreads) {
  for (int round = 0; round < 50; ++round) {
    UnreliableServer server;
    const auto connection = OpenConnection(server.port(), milliseconds{10'000});
    std::atomic<int> canceled{0};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          for (uint32_t tag = 1;; ++tag) {
            TaggedCall call(tag);
            if (connection->Execute(call) == Outcome::kCanceled) break;
          }
          ++canceled;
        });
      }
      while (connection->calls_sent() < 100) std::this_thread::yield();
      connection->Shutdown();
    }
    EXPECT_EQ(canceled, kThreads);
  }
}

}  // namespace
}  // namespace nfswalk::rpc
