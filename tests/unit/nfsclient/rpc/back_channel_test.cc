// The connection of a server's calls, against a server that the test steers.
#include "nfsclient/rpc/back_channel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/loopback.h"

namespace nfswalk::rpc {
namespace {

using protocol::FakeAnswer;
using protocol::FakeCall;
using protocol::FakeServer;
using protocol::Xdr;
using Accepted = BackChannel::Accepted;
using Bound = BackChannel::Bound;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kProgram = 77;
constexpr uint32_t kVersion = 3;
constexpr uint32_t kXid = 4711;

// Procedures of the service: `kEcho` returns its argument.
constexpr uint32_t kEcho = 5;
constexpr uint32_t kGarbage = 6;

Accepted Serve(uint32_t procedure, XdrReader& arguments, XdrWriter& results) {
  if (procedure == kGarbage) return Accepted::kGarbageArguments;
  if (procedure != kEcho) return Accepted::kProcedureUnavailable;
  results.U32(arguments.U32());
  return Accepted::kSuccess;
}

// xid, CALL, version 2, program, version, procedure, no credential, no verifier, an argument.
Xdr CallOf(uint32_t procedure, uint32_t argument = 0, uint32_t program = kProgram,
           uint32_t version = kVersion, uint32_t rpc_version = 2) {
  Xdr call;
  call.U32(kXid, 0, rpc_version, program, version, procedure).U64(0).U64(0).U32(argument);
  return call;
}
Xdr AcceptedReply(uint32_t accept_stat) { return Xdr().U32(kXid, 1, 0, 0, 0, accept_stat); }

class BackChannelTest : public testing::Test {
 protected:
  std::atomic<int> lost_{0};  // connections that were bound

  // Binding number n, from 1 on, is answered by `answer(n)`: Bound as a word, or another answer.
  void Open(std::function<FakeAnswer(int)> answer, milliseconds timeout = seconds{60}) {
    server_.emplace([this, answer](const FakeCall& call) {
      const std::lock_guard lock(mutex_);
      bindings_.push_back(call);
      changed_.notify_all();
      return answer(static_cast<int>(bindings_.size()));
    });
    const Endpoint endpoint{"127.0.0.1", server_->port(), 100, 4};
    auto opened = BackChannel::Open(endpoint, {timeout, seconds{60}}, nullptr, "",
                                    {kProgram, kVersion, Serve, [this] { ++lost_; }});
    ASSERT_TRUE(opened.has_value());
    channel_ = std::move(*opened);
  }
  static FakeAnswer Says(Bound bound) { return Reply(Xdr().U32(static_cast<uint32_t>(bound))); }

  // By the call whose argument is this word.
  void Bind(uint32_t word = 1) {
    const Xdr arguments = Xdr().U32(word);
    const auto* bytes = reinterpret_cast<const std::byte*>(arguments.str().data());
    channel_->Bind({.procedure = 9,
                    .arguments = {bytes, bytes + arguments.str().size()},
                    .decide = [](XdrReader& results) { return Bound{uint8_t(results.U32())}; }});
  }
  // Waits for binding number n.
  FakeCall AwaitBinding(size_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bindings_.size() >= number; });
    return bindings_[number - 1];
  }
  void AwaitBound(bool is_bound = true) {
    while (channel_->is_bound() != is_bound) std::this_thread::yield();
  }
  // Waits until the client has ended the connection.
  void AwaitEnd(int connection) {
    while (Call(CallOf(kEcho), connection)) std::this_thread::yield();
  }
  std::optional<std::string> Call(const Xdr& call, int connection = 1) {
    return server_->CallClient(connection, call);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FakeCall> bindings_;  // guarded by mutex_
  std::optional<FakeServer> server_;
  std::unique_ptr<BackChannel> channel_;  // ends first
};

TEST_F(BackChannelTest, NothingIsSentBeforeItIsBound) {
  Open([](int) { return Says(Bound::kYes); });
  EXPECT_FALSE(channel_->is_bound());
  channel_->NoteLost();
  channel_ = nullptr;
  EXPECT_TRUE(bindings_.empty());
}

TEST_F(BackChannelTest, ABoundOneAnswersCalls) {
  Open([](int) { return Says(Bound::kYes); });
  Bind(8);
  const FakeCall binding = AwaitBinding(1);
  EXPECT_EQ(binding.program, 100u);
  EXPECT_EQ(binding.version, 4u);
  EXPECT_EQ(binding.procedure, 9u);
  EXPECT_EQ(binding.flavor, 0u);
  EXPECT_EQ(binding.arguments, Xdr().U32(8).str());
  AwaitBound();
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Call(CallOf(kEcho, i)), AcceptedReply(0).U32(i).str());
  }
  EXPECT_EQ(channel_->calls(), 3u);
}

TEST_F(BackChannelTest, CallsOfEachKindAreAnswered) {
  const Xdr denied = Xdr().U32(kXid, 1, 1, 0, 2, 2);  // RPC_MISMATCH
  const struct {
    const char* name;
    Xdr call, reply;
  } rows[] = {
      {"served", CallOf(kEcho, 1), AcceptedReply(0).U32(1)},
      {"another program", CallOf(kEcho, 1, 78), AcceptedReply(1)},
      {"another version", CallOf(kEcho, 1, kProgram, 4), AcceptedReply(2).U32(3, 3)},
      {"another procedure", CallOf(1), AcceptedReply(3)},
      {"arguments that are none", CallOf(kGarbage), AcceptedReply(4)},
      {"another RPC", CallOf(kEcho, 1, kProgram, kVersion, 3), denied},
      {"with a credential",
       Xdr().U32(kXid, 0, 2, kProgram, kVersion, kEcho, 1).Bytes("abcdefgh").U64(0).U32(5),
       AcceptedReply(0).U32(5)},
  };
  Open([](int) { return Says(Bound::kYes); });
  Bind();
  AwaitBinding(1);
  for (const auto& row : rows) EXPECT_EQ(Call(row.call), row.reply.str()) << row.name;
}

TEST_F(BackChannelTest, ManyCallsInOnePieceAreAnsweredInTheirOrder) {
  Open([](int) { return Says(Bound::kYes); });
  Bind();
  AwaitBound();
  std::string all;
  constexpr uint32_t kCalls = 500;
  for (uint32_t i = 0; i < kCalls; ++i) {
    Xdr call;
    call.U32(i, 0, 2, kProgram, kVersion, kEcho).U64(0).U64(0).U32(i);
    all += Xdr().U32(0x80000000u | call.str().size()).Raw(call).str();
  }
  server_->SendBytes(1, all);
  EXPECT_EQ(Call(CallOf(kEcho, 1)), AcceptedReply(0).U32(1).str());
  EXPECT_EQ(channel_->calls(), kCalls + 1);
}

// The server may call as soon as it has executed the binding.
TEST_F(BackChannelTest, CallsBeforeTheReplyToTheBindingAreAnswered) {
  std::optional<FakeCall> held;
  Open([&](int) {
    held = bindings_.back();
    return protocol::kSilence;
  });
  Bind();
  AwaitBinding(1);
  EXPECT_EQ(Call(CallOf(kEcho, 3)), AcceptedReply(0).U32(3).str());
  EXPECT_FALSE(channel_->is_bound());
  server_->SendReply(*held, Says(Bound::kYes));
  AwaitBound();
}

TEST_F(BackChannelTest, ARefusedBindingWaitsForAnother) {
  Open([](int number) { return number == 1 ? Says(Bound::kNo) : Says(Bound::kYes); });
  Bind(1);
  AwaitBinding(1);
  AwaitEnd(1);
  Bind(2);
  EXPECT_EQ(AwaitBinding(2).arguments, Xdr().U32(2).str());
  AwaitBound();
}

TEST_F(BackChannelTest, ABindingIsSentAgainAfterEachWayToLoseIt) {
  const std::pair<const char*, FakeAnswer> rows[] = {
      {"put off", Says(Bound::kLater)},
      {"an error of the server", {FakeAnswer::Kind::kRefuse, {}, 5}},
      {"no reply", protocol::kSilence},
      {"connection lost", protocol::kHangUp},
      {"no RPC", protocol::kHttpAnswer},
      {"reply to another call", {FakeAnswer::Kind::kRaw, Xdr().U32(0x80000004u, 1).str()}},
  };
  for (const auto& [name, first] : rows) {
    SCOPED_TRACE(name);
    bindings_.clear();
    Open([&](int number) { return number == 1 ? first : Says(Bound::kYes); }, milliseconds{100});
    Bind();
    AwaitBinding(2);
    AwaitBound();
    channel_ = nullptr;
  }
}

// An accept_stat or reject_stat in place of results is a refusal.
TEST_F(BackChannelTest, ABindingThatTheServerDoesNotKnowIsRefused) {
  for (const FakeAnswer& refusal :
       {protocol::kProgramUnavailable, protocol::kVersionMismatch,
        FakeAnswer{FakeAnswer::Kind::kRefuse, {}, 3}, FakeAnswer{FakeAnswer::Kind::kDeny, {}, 1}}) {
    bindings_.clear();
    Open([&](int number) { return number == 1 ? refusal : Says(Bound::kYes); });
    Bind(1);
    AwaitBinding(1);
    AwaitEnd(1);
    Bind(2);
    EXPECT_EQ(AwaitBinding(2).arguments, Xdr().U32(2).str());
    channel_ = nullptr;
  }
}

TEST_F(BackChannelTest, ARecordThatIsNoCallEndsTheConnectionWhichIsBoundAnew) {
  const auto record = [](const Xdr& bytes) {
    return Xdr().U32(0x80000000u | bytes.str().size()).Raw(bytes).str();
  };
  const std::pair<const char*, std::string> rows[] = {
      {"a record of nothing", record(Xdr())},
      {"a record of an xid", record(Xdr().U32(1))},
      {"a message of another type", record(Xdr().U32(1, 2))},
      {"a reply to no call", record(Xdr().U32(1, 1, 0, 0, 0, 0))},
      {"a call that ends in its head", record(Xdr().U32(1, 0, 2, kProgram, kVersion))},
      {"a credential that is too long",
       record(Xdr().U32(1, 0, 2, kProgram, kVersion, kEcho, 1).Bytes(std::string(404, 'x')))},
      {"a credential longer than the call",
       record(Xdr().U32(1, 0, 2, kProgram, kVersion, kEcho, 1, 400))},
      {"a record that is too long", Xdr().U32(0x80000000u | 4097).U64(0).str()},
      {"a record of two GiB", Xdr().U32(0xffffffffu).U64(0).str()},
      {"fragments that are too long", Xdr().U32(4000).Raw(std::string(4000, 'x')).U32(100).str()},
      {"a fragment of nothing", Xdr().U32(0).str()},
  };
  for (const auto& [name, bytes] : rows) {
    SCOPED_TRACE(name);
    bindings_.clear();
    Open([](int) { return Says(Bound::kYes); });
    Bind();
    AwaitBound();
    server_->SendBytes(1, bytes);
    AwaitBinding(2);
    AwaitBound();
    EXPECT_EQ(Call(CallOf(kEcho, 2), 2), AcceptedReply(0).U32(2).str());
    channel_ = nullptr;
  }
}

// WIRE-44.
TEST_F(BackChannelTest, ALostConnectionIsBoundAnew) {
  Open([](int) { return Says(Bound::kYes); });
  Bind(6);
  for (int number = 1; number <= 3; ++number) {
    EXPECT_EQ(AwaitBinding(static_cast<size_t>(number)).connection, number);
    AwaitBound();
    EXPECT_EQ(Call(CallOf(kEcho, 2), number), AcceptedReply(0).U32(2).str());
    if (number == 1) {
      channel_->NoteLost();  // by another connection
    } else {
      server_->HangUp(number);
    }
  }
  EXPECT_EQ(AwaitBinding(4).arguments, Xdr().U32(6).str());
}

TEST_F(BackChannelTest, AnotherBindingTakesTheSameConnection) {
  Open([](int number) { return Says(number == 3 ? Bound::kNo : Bound::kYes); });
  Bind(1);
  AwaitBound();
  Bind(2);
  const FakeCall second = AwaitBinding(2);
  EXPECT_EQ(second.connection, 1);
  EXPECT_EQ(second.arguments, Xdr().U32(2).str());
  AwaitBound();
  Bind(3);
  AwaitBinding(3);
  AwaitBound(false);
}

// It cannot tell a reply to the earlier one.
TEST_F(BackChannelTest, AnotherBindingBeforeTheReplyTakesAnotherConnection) {
  Open([](int number) { return number == 1 ? protocol::kSilence : Says(Bound::kYes); });
  Bind(1);
  AwaitBinding(1);
  Bind(2);
  const FakeCall second = AwaitBinding(2);
  EXPECT_EQ(second.connection, 2);
  EXPECT_EQ(second.arguments, Xdr().U32(2).str());
}

// It is not bound, and does not wait for the server, in any of these states.
TEST_F(BackChannelTest, EndsAtOnce) {
  Open([](int) { return protocol::kSilence; });
  Bind();
  AwaitBinding(1);
  channel_ = nullptr;  // while it waits for the reply

  bindings_.clear();
  Open([](int) { return Says(Bound::kYes); });
  Bind();
  AwaitBound();
  channel_->Shutdown();  // while it waits for calls
  AwaitBound(false);
  Bind();
  channel_ = nullptr;

  bindings_.clear();
  Open([](int) { return protocol::kHangUp; });
  Bind();
  AwaitBinding(1);
  channel_ = nullptr;  // in its pause
}

TEST_F(BackChannelTest, AServerThatTakesNoRepliesLosesTheConnection) {
  uint16_t port = 0;
  const int listening = fixtures::Listen(port);
  const Endpoint endpoint{"127.0.0.1", port, 100, 4};
  auto opened = BackChannel::Open(endpoint, {milliseconds{200}, seconds{60}}, nullptr, "",
                                  {kProgram, kVersion, Serve, [this] { ++lost_; }});
  ASSERT_TRUE(opened.has_value());
  channel_ = std::move(*opened);
  Bind();
  const int fd = accept(listening, nullptr, nullptr);
  const Xdr call = CallOf(kEcho, 1);
  const std::string record = Xdr().U32(0x80000000u | call.str().size()).Raw(call).str();
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += record;
  while (fixtures::SendAll(fd, many)) {  // until the client has ended the connection
  }
  close(fd);
  channel_ = nullptr;
  close(listening);
}

}  // namespace
}  // namespace nfswalk::rpc
