#include "tests/fixtures/delaying_proxy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "tests/fixtures/loopback.h"

namespace nfswalk::fixtures {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDelay{20};

// Returns what was sent before the end, or `bytes` of it.
std::string Receive(int fd, size_t bytes = SIZE_MAX) {
  std::string all;
  std::array<char, 65536> room;
  while (all.size() < bytes) {
    const ssize_t count = recv(fd, room.data(), std::min(room.size(), bytes - all.size()), 0);
    if (count <= 0) break;
    all.append(room.data(), static_cast<size_t>(count));
  }
  return all;
}

class DelayingProxyTest : public testing::Test {
 protected:
  void Connect() {
    client_ = fixtures::Connect(proxy_.port());
    ASSERT_GE(client_, 0);
    server_ = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    ASSERT_GE(server_, 0);
  }
  ~DelayingProxyTest() override {
    for (const int fd : {listening_, client_, server_}) {
      if (fd >= 0) close(fd);
    }
  }

  uint16_t port_ = 0;
  const int listening_ = Listen(port_);
  DelayingProxy proxy_{port_, kDelay};
  int client_ = -1, server_ = -1;
};

TEST_F(DelayingProxyTest, BytesArriveWholeInOrderAndNotEarlier) {
  Connect();
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += std::to_string(i);
  for (const auto& [from, to] : {std::pair{client_, server_}, {server_, client_}}) {
    const Clock::time_point sent = Clock::now();
    ASSERT_TRUE(SendAll(from, "first"));
    EXPECT_EQ(Receive(to, 5), "first");
    EXPECT_GE(Clock::now() - sent, kDelay);
    std::thread sender([&, from = from] { EXPECT_TRUE(SendAll(from, bytes)); });
    EXPECT_EQ(Receive(to, bytes.size()), bytes);
    sender.join();
  }
}

TEST_F(DelayingProxyTest, AnEndArrivesAfterWhatWasSentAndTheOtherDirectionGoesOn) {
  Connect();
  ASSERT_TRUE(SendAll(client_, "last"));
  shutdown(client_, SHUT_WR);
  EXPECT_EQ(Receive(server_), "last");
  ASSERT_TRUE(SendAll(server_, "answer"));
  shutdown(server_, SHUT_WR);
  EXPECT_EQ(Receive(client_), "answer");
}

TEST_F(DelayingProxyTest, CallsAreRecordsOfClientsHoweverTheyArrive) {
  Connect();
  using std::string_literals::operator""s;
  const std::string whole = "\x80\0\0\4call"s, first = "\0\0\0\3cal"s, last = "\x80\0\0\1l"s,
                    empty = "\x80\0\0\0"s;
  const std::string calls = whole + first + last + empty + whole;
  for (const char byte : calls) ASSERT_TRUE(SendAll(client_, {&byte, 1}));
  EXPECT_EQ(Receive(server_, calls.size()), calls);
  ASSERT_TRUE(SendAll(server_, whole));
  EXPECT_EQ(Receive(client_, whole.size()), whole);
  EXPECT_EQ(proxy_.calls(), 4U);
}

TEST_F(DelayingProxyTest, AConnectionEndsWhereNobodyListens) {
  uint16_t unused = 0;
  close(Listen(unused));
  DelayingProxy proxy(unused, kDelay);
  const int client = fixtures::Connect(proxy.port());
  ASSERT_GE(client, 0);
  EXPECT_EQ(Receive(client), "");
  close(client);
}

}  // namespace
}  // namespace nfswalk::fixtures
