// Calls of the server in a session: the connection that they come over, and what they have the
// client do.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/rpc/session_slots.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

constexpr int kOpSequence = static_cast<int>(rpc::kOpSequence);
constexpr int kForEver = 1'000'000;
constexpr uint32_t kCbSequence = 11;
constexpr uint32_t kCbRecallSlot = 10;
const Credential kRoot(0, 0);

class SessionCallbacksTest : public testing::Test {
 protected:
  void Connect(uint32_t nconnect = 1) {
    auto connected =
        Nfs4::ConnectNfs4({"127.0.0.1", "/", server_.port(), 0, 4, 1}, {.nconnect = nconnect});
    ASSERT_TRUE(connected.has_value()) << connected.error().message;
    nfs_ = std::move(*connected);
    root_ = nfs_->GetRoot(kRoot).handle;
  }
  std::errc Stat() { return nfs_->GetAttributes(root_, kRoot).error; }
  void AwaitBound() {
    while (!nfs_->transport_stats().has_back_channel) std::this_thread::yield();
  }
  // CB_SEQUENCE in slot 0, and so many operations behind it. Returns the status of the CB_COMPOUND.
  std::optional<uint32_t> CallBack(const FakeSessions::BackChannel& channel, uint32_t sequence,
                                   uint32_t more = 0, const Xdr& operations = {}) {
    Xdr call;
    call.Bytes("").U32(1, 0, 1 + more).U32(kCbSequence).Raw(channel.session);
    call.U32(sequence, 0, 0, 0, 0).Raw(operations);
    const auto results = server_.CallBack(channel.connection, call);
    return results ? std::optional(XdrReader(*results).U32()) : std::nullopt;
  }
  int bindings() { return server_.calls(kOpBindConnToSession); }

  FakeNfs4 server_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle root_;
};

TEST_F(SessionCallbacksTest, TheServerCallsOverAConnectionOfItsOwn) {
  for (const uint32_t nconnect : {1, 4}) {
    SCOPED_TRACE(nconnect);
    const int before = bindings();
    Connect(nconnect);
    const auto channel = server_.AwaitBackChannel(before + 1);
    for (uint32_t sequence = 1; sequence <= 3; ++sequence) {
      EXPECT_EQ(CallBack(channel, sequence), NFS4_OK);
    }
    AwaitBound();
    EXPECT_EQ(nfs_->transport_stats().callbacks, 3u);
    nfs_ = nullptr;
    EXPECT_EQ(CallBack(channel, 4), std::nullopt);
  }
}

// WIRE-44.
TEST_F(SessionCallbacksTest, EachSessionIsBound) {
  Connect();
  const auto first = server_.AwaitBackChannel(1);
  EXPECT_EQ(CallBack(first, 1), NFS4_OK);
  server_.EndSessions();
  EXPECT_EQ(Stat(), kOk);
  const auto second = server_.AwaitBackChannel(2);
  EXPECT_NE(first.session, second.session);
  EXPECT_EQ(CallBack({first.session, second.connection}, 2), rpc::kBadSession);
  EXPECT_EQ(CallBack(second, 1), NFS4_OK);
}

TEST_F(SessionCallbacksTest, AServerThatDoesNotBindIsServedWithoutCallbacks) {
  for (const int status : {NFS4ERR_NOTSUPP, NFS4ERR_OP_ILLEGAL, NFS4ERR_INVAL}) {
    SCOPED_TRACE(status);
    const int before = bindings();
    server_.Inject(kOpBindConnToSession, {.status = status}, kForEver);
    Connect();
    server_.AwaitCalls(kOpBindConnToSession, before + 1);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(Stat(), kOk);
    EXPECT_FALSE(nfs_->transport_stats().has_back_channel);
    nfs_ = nullptr;
    EXPECT_EQ(bindings(), before + 1) << "asked once";
  }
}

TEST_F(SessionCallbacksTest, ADelayedBindingIsAskedForAgain) {
  server_.Inject(kOpBindConnToSession, {.status = NFS4ERR_DELAY}, 2);
  Connect();
  AwaitBound();
  EXPECT_EQ(bindings(), 3);
}

// Once for each time that the flag appears: it may stay for ever.
TEST_F(SessionCallbacksTest, AServerThatCannotCallIsGivenAnotherConnection) {
  for (const uint32_t flag : {0x1u, 0x200u, 0x400u}) {
    SCOPED_TRACE(flag);
    const int before = bindings();
    Connect();
    AwaitBound();
    const auto channel = server_.AwaitBackChannel(before + 1);
    server_.WithSessions([&](FakeSessions& sessions) { sessions.status_flags = flag; });
    EXPECT_EQ(Stat(), kOk);
    EXPECT_NE(server_.AwaitBackChannel(before + 2).connection, channel.connection);
    AwaitBound();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(Stat(), kOk);
    EXPECT_TRUE(nfs_->transport_stats().has_back_channel);
    nfs_ = nullptr;
    EXPECT_EQ(bindings(), before + 2);
    server_.WithSessions([&](FakeSessions& sessions) { sessions.status_flags = 0; });
  }
}

// Opens several connections to a server that can never call: at most two bindings are asked for.
TEST_F(SessionCallbacksTest, AServerThatCanNeverCallIsServed) {
  server_.WithSessions([](FakeSessions& sessions) { sessions.status_flags = 0x601; });
  Connect(8);
  AwaitBound();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Stat(), kOk);
  nfs_ = nullptr;
  EXPECT_LE(bindings(), 2) << "the first reply may come after the binding's";
}

// A server that is no more the session's, or not yet.
TEST_F(SessionCallbacksTest, ABindingThatFailsOtherwiseIsMadeLater) {
  for (const int status : {int{rpc::kBadSession}, int{NFS4ERR_SERVERFAULT}, int{NFS4ERR_EXPIRED}}) {
    SCOPED_TRACE(status);
    server_.Inject(kOpBindConnToSession, {.status = status});
    Connect();
    AwaitBound();
    EXPECT_EQ(Stat(), kOk);
    nfs_ = nullptr;
  }
}

// CB_RECALL_SLOT: the server is told by a SEQUENCE that they are free.
TEST_F(SessionCallbacksTest, SlotsAreGivenBackAtOnce) {
  server_.set_lease_seconds(3600);  // no renewal comes of itself
  Connect();
  const auto channel = server_.AwaitBackChannel(1);
  server_.WithSessions([](FakeSessions& sessions) { sessions.target_highest = 0; });
  const int sequences = server_.calls(kOpSequence);
  EXPECT_EQ(CallBack(channel, 1, 1, Xdr().U32(kCbRecallSlot, 0)), NFS4_OK);
  server_.AwaitCalls(kOpSequence, sequences + 1);
  EXPECT_EQ(CallBack(channel, 2, 1, Xdr().U32(kCbRecallSlot, 0)), NFS4_OK);
  server_.AwaitCalls(kOpSequence, sequences + 2);
  EXPECT_EQ(Stat(), kOk);
  server_.WithSessions(
      [](const FakeSessions& sessions) { EXPECT_EQ(sessions.sent_highest.back(), 0u); });
}

// Whatever the server calls for, the mount's calls are answered, and it ends.
TEST_F(SessionCallbacksTest, AServerThatCallsWithoutEndIsServedNonetheless) {
  Connect();
  const auto channel = server_.AwaitBackChannel(1);
  std::atomic<bool> ends = false;
  std::thread flood([&] {
    const Xdr recall = Xdr().U32(kCbRecallSlot, 0);
    for (uint32_t sequence = 1; !ends; ++sequence) (void)CallBack(channel, sequence, 1, recall);
  });
  while (nfs_->transport_stats().callbacks < 1000) EXPECT_EQ(Stat(), kOk);
  nfs_ = nullptr;
  ends = true;
  flood.join();
}

TEST_F(SessionCallbacksTest, BytesThatAreNoCallCostTheConnection) {
  Connect();
  for (int number = 1; number <= 3; ++number) {
    const auto channel = server_.AwaitBackChannel(number);
    AwaitBound();
    server_.server().SendBytes(channel.connection, "GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(Stat(), kOk);
  }
  server_.AwaitBackChannel(4);
  EXPECT_EQ(Stat(), kOk);
}

}  // namespace
}  // namespace nfswalk::protocol
