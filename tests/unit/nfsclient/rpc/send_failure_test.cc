// Tests rare outcomes of sendmsg(2): it fails for want of memory, or returns after the reply came.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>

#include "tests/unit/nfsclient/rpc/tagged_call.h"

namespace {

// Makes sendmsg() of this thread fail `failures` times with `failure`, and then call
// `before_return` before it returns.
thread_local int failures = 0;
thread_local int failure = 0;
thread_local std::function<void()> before_return;
thread_local int sends = 0;
// Runs first in each recv() of this thread.
thread_local std::function<void()> before_receive;

}  // namespace

extern "C" ssize_t recv(int fd, void* into, size_t bytes, int flags) {
  static const auto next = reinterpret_cast<decltype(&recv)>(dlsym(RTLD_NEXT, "recv"));
  if (before_receive) before_receive();
  return next(fd, into, bytes, flags);
}

extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static const auto next = reinterpret_cast<decltype(&sendmsg)>(dlsym(RTLD_NEXT, "sendmsg"));
  if (failures > 0) {
    --failures;
    errno = failure;
    return -1;
  }
  ++sends;
  const ssize_t sent = next(fd, message, flags);
  if (before_return) before_return();
  return sent;
}

namespace nfswalk::rpc {
namespace {

constexpr std::chrono::seconds kLong{60};

TEST(SendFailure, WithoutMemoryACallWaitsAndKeepsItsConnection) {
  FakeServer server(OnNfsCall([](const FakeCall&) { return kNoEntry; }));
  const auto connection = OpenConnection(server.port(), kLong);
  TaggedCall call(1);
  EXPECT_EQ(connection->Execute(call), Outcome::kReplied);
  for (const int error : {ENOBUFS, ENOMEM}) {
    failures = 3;
    failure = error;
    EXPECT_EQ(connection->Execute(call), Outcome::kReplied);
    EXPECT_EQ(failures, 0);
  }
  EXPECT_EQ(connection->connections_opened(), 1u);
  failures = 1'000'000;
  call.deadline = Call::Clock::now() + std::chrono::milliseconds{100};
  EXPECT_EQ(connection->Execute(call), Outcome::kTimedOut);
  EXPECT_GT(failures, 1'000'000 - 100) << "it does not try all the time";
  failures = 0;
  EXPECT_FALSE(call.was_sent());
}

// The driver is another call, which ends with the connection.
TEST(SendFailure, AMalformedReplyToACallThatIsBeingSentEndsItAtOnce) {
  std::counting_semaphore<> driving{0};
  std::counting_semaphore<> lost{0};
  FakeServer server(OnNfsCall([&](const FakeCall& call) {
    if (TagOf(call) == 1) {
      driving.release();
      return kSilence;
    }
    Xdr malformed;  // no reply, but with the call's xid
    malformed.U32(0x80000000u | 12, call.xid, 7, 0);
    return FakeAnswer{.kind = FakeAnswer::Kind::kRaw,
                      .bytes = malformed.str(),
                      .after = FakeAnswer::After::kDeaf};
  }));
  const auto connection = OpenConnection(server.port(), kLong);
  std::jthread driver([&] {
    TaggedCall call(1);
    EXPECT_EQ(connection->Execute(call), Outcome::kLost);
    lost.release();
  });
  driving.acquire();
  before_return = [&] { lost.acquire(); };
  TaggedCall call(2);
  EXPECT_EQ(connection->Execute(call), Outcome::kRejected);
  before_return = nullptr;
  EXPECT_EQ(call.reject_reason(), RejectReason::kMalformedReply);
}

// The driver of that time, in recv(2), could not send it before something comes.
TEST(SendFailure, EarlyReplyHandsSendingOver) {
  std::counting_semaphore<> driving{0}, answered{0}, receiving{0};
  uint32_t xid_of_driver = 0;
  FakeServer server(OnNfsCall([&](const FakeCall& call) {
    if (TagOf(call) == 1) {
      xid_of_driver = call.xid;
      driving.release();
      return kSilence;
    }
    if (TagOf(call) == 3) return kNoEntry;
    Xdr both;  // accepted, and the status
    for (const uint32_t xid : {call.xid, xid_of_driver}) {
      both.U32(0x80000000u | 28, xid, 1, 0, 0, 0, 0, 2);
    }
    return FakeAnswer{
        .kind = FakeAnswer::Kind::kRaw, .bytes = both.str(), .after = FakeAnswer::After::kRead};
  }));
  const auto connection = OpenConnection(server.port(), kLong);
  std::jthread first_driver([&] {
    TaggedCall call(1);
    EXPECT_EQ(connection->Execute(call), Outcome::kReplied);
    answered.release();
  });
  driving.acquire();
  std::jthread next_driver;
  before_return = [&] {
    answered.acquire();
    next_driver = std::jthread([&] {
      before_receive = [&] { receiving.release(); };
      TaggedCall call(3);
      EXPECT_EQ(connection->Execute(call), Outcome::kReplied);
      EXPECT_EQ(sends, 0) << "its call was sent after it had waited for something to come";
    });
    receiving.acquire();
    before_return = nullptr;
  };
  TaggedCall call(2);
  EXPECT_EQ(connection->Execute(call), Outcome::kReplied);
}

}  // namespace
}  // namespace nfswalk::rpc
