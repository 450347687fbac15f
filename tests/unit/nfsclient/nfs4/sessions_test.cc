// Sessions of version 4.1 against a server with injected faults.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/rpc/session_slots.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

using Kind = FakeFault::Kind;

constexpr int kOpSequence = static_cast<int>(rpc::kOpSequence);
constexpr int kForEver = 1'000'000;
const Credential kRoot(0, 0);

class SessionsTest : public testing::Test {
 protected:
  SessionsTest() { server_.Put("f", {.data = "text"}); }

  void Connect(const TransportOptions& options = {}) {
    auto connected = TryToConnect(1, options);
    ASSERT_TRUE(connected.has_value()) << connected.error().message;
    nfs_ = std::move(*connected);
    root_ = nfs_->GetRoot(kRoot).handle;
  }
  std::expected<std::unique_ptr<Protocol>, ConnectError> TryToConnect(
      uint32_t minor_version, const TransportOptions& options = {}) {
    return Nfs4::ConnectNfs4({"127.0.0.1", "/", server_.port(), 0, 4, minor_version}, options);
  }
  std::errc Remove(const std::string& name) { return nfs_->Remove(root_, name, {}, kRoot).error; }
  std::errc Stat() { return nfs_->GetAttributes(root_, kRoot).error; }
  int sessions_made() { return server_.calls(kOpCreateSession); }
  int clients_made() { return server_.calls(kOpExchangeId); }

  FakeNfs4 server_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle root_;
};

TEST_F(SessionsTest, AMountHasOneAndEndsItWithItsClientId) {
  Connect({.nconnect = 4});
  EXPECT_EQ(clients_made(), 1);
  EXPECT_EQ(sessions_made(), 1);
  EXPECT_EQ(server_.calls(kOpReclaimComplete), 1);
  EXPECT_EQ(server_.calls(OP_SETCLIENTID), 0);
  nfs_ = nullptr;
  EXPECT_EQ(server_.WithSessions([](FakeSessions& s) { return s.sessions(); }), 0u);
  EXPECT_EQ(server_.calls(kOpDestroyClientId), 1);
}

TEST_F(SessionsTest, AMountEndsThoughTheServerDelaysTheEndOfItsSession) {
  for (const int operation : {kOpDestroySession, kOpDestroyClientId}) {
    Connect();
    server_.Inject(operation, {.status = NFS4ERR_DELAY}, kForEver);
    nfs_ = nullptr;
  }
  EXPECT_GE(server_.calls(kOpDestroySession), 2);
}

TEST_F(SessionsTest, AServerWithoutTheMinorVersionIsNamed) {
  const auto refused = TryToConnect(2);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().error, std::errc::protocol_not_supported);
  EXPECT_NE(refused.error().message.find("version 4.2"), std::string::npos);
}

// A SEQUENCE that fails once is sent again, and nothing is executed twice.
TEST_F(SessionsTest, EachErrorOfSequenceIsGotOver) {
  const struct {
    int status, sessions;
  } rows[] = {{NFS4ERR_DELAY, 0},       {rpc::kBadHighSlot, 0},   {rpc::kRetryUncachedRep, 0},
              {rpc::kSeqFalseRetry, 0}, {rpc::kBadSession, 1},    {rpc::kDeadSession, 1},
              {rpc::kBadSlot, 1},       {rpc::kSeqMisordered, 1}, {rpc::kConnNotBoundToSession, 1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.status);
    Connect();
    const int sessions = sessions_made(), clients = clients_made();
    server_.Put("gone", {});
    const int removals = server_.calls(OP_REMOVE);
    server_.Inject(kOpSequence, {.status = row.status});
    // The server has counted no call in that slot, so that these go on with another number.
    const bool is_out_of_step =
        row.status == rpc::kRetryUncachedRep || row.status == rpc::kSeqFalseRetry;
    EXPECT_EQ(Remove("gone"), kOk);
    EXPECT_EQ(server_.calls(OP_REMOVE), removals + 1);
    EXPECT_EQ(sessions_made(), sessions + row.sessions + (is_out_of_step ? 1 : 0));
    EXPECT_EQ(clients_made(), clients);
    nfs_ = nullptr;
  }
}

// A server that takes none of the slots that are told of ends the session.
TEST_F(SessionsTest, AHighestSlotThatIsRefusedForEverCostsTheSession) {
  Connect({.nconnect = 4});
  const int sessions = sessions_made();
  server_.Inject(kOpSequence, {.status = rpc::kBadHighSlot}, 2);
  EXPECT_EQ(Stat(), kOk);
  EXPECT_EQ(sessions_made(), sessions + 1);
}

// WIRE-38. What version 4.0 cannot tell: it was this call that made it.
TEST_F(SessionsTest, ACallWhoseReplyIsLostIsExecutedOnce) {
  for (const Kind kind : {Kind::kLoseReply, Kind::kLoseCall}) {
    Connect();
    server_.Put("old", {});
    server_.Inject(OP_CREATE, {.kind = kind});
    server_.Inject(OP_REMOVE, {.kind = kind});
    server_.Inject(OP_RENAME, {.kind = kind});
    EXPECT_EQ(nfs_->MakeDirectory(root_, "new", {.mode = 0755}, kRoot).error, kOk);
    EXPECT_EQ(nfs_->RemoveDirectory(root_, "new", {}, kRoot).error, kOk);
    EXPECT_EQ(nfs_->Rename(root_, "old", root_, "name", {}, kRoot).error, kOk);
    EXPECT_EQ(Remove("name"), kOk);
    EXPECT_EQ(sessions_made(), 1 + (kind == Kind::kLoseCall ? 1 : 0)) << "the same";
    nfs_ = nullptr;
  }
  EXPECT_EQ(server_.calls(OP_CREATE), 2 + 1) << "lost before it was executed";
}

// The server answers the repetition before it has ended the first execution.
TEST_F(SessionsTest, ACallThatIsExecutedStillKeepsItsSlot) {
  Connect();
  server_.Inject(OP_CREATE, {.kind = Kind::kLoseReply});
  server_.Inject(kOpSequence, {.status = NFS4ERR_DELAY}, 2, 1);
  EXPECT_EQ(nfs_->MakeDirectory(root_, "new", {.mode = 0755}, kRoot).error, kOk);
  EXPECT_EQ(server_.calls(OP_CREATE), 1);
  EXPECT_EQ(sessions_made(), 1);
}

TEST_F(SessionsTest, ASessionThatCannotBeMadeIsToldOf) {
  server_.Inject(kOpCreateSession, {.status = rpc::kSeqMisordered}, kForEver);
  const auto refused = TryToConnect(1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().error, std::errc::io_error);
}

// Version 4.0 takes it for its own second execution.
TEST_F(SessionsTest, AnErrorWhoseReplyIsLostIsToldAsItIs) {
  Connect();
  const LookupReply known = nfs_->Lookup(root_, "f", kRoot);
  ASSERT_EQ(Remove("f"), kOk);  // as another client does it
  server_.Inject(OP_REMOVE, {.kind = Kind::kLoseReply});
  EXPECT_EQ(nfs_->Remove(root_, "f", KnownObject{known.handle, 1, true}, kRoot).error,
            std::errc::no_such_file_or_directory);
}

// The session that would know is gone: then it is judged by what can be seen.
TEST_F(SessionsTest, ALostReplyOfASessionThatHasEndedIsNotGuessed) {
  Connect();
  server_.Put("gone", {});
  const KnownObject known{nfs_->Lookup(root_, "gone", kRoot).handle, 1, true};
  server_.Inject(OP_REMOVE, {.kind = Kind::kLoseReply});
  server_.Before(OP_REMOVE, [&] { server_.EndSessions(); });
  server_.Before(kOpCreateSession, [&] { server_.Put("gone", {}); });  // by another client
  EXPECT_EQ(nfs_->Remove(root_, "gone", known, kRoot).error, kOk);
  EXPECT_TRUE(server_.Find("gone").has_value());
  server_.Inject(OP_CREATE, {.kind = Kind::kLoseReply});
  server_.Before(OP_CREATE, [&] { server_.EndSessions(); });
  EXPECT_EQ(nfs_->MakeDirectory(root_, "new", {.mode = 0755}, kRoot).error, std::errc::file_exists)
      << "it may be another client's";
}

TEST_F(SessionsTest, AsManyCallsAsSlotsAreInFlight) {
  for (const uint32_t slots : {1u, 2u, 5u}) {
    for (const uint32_t nconnect : {1u, 3u}) {
      server_.WithSessions([&](FakeSessions& sessions) {
        sessions.slots_max = slots;
        sessions.target_highest = slots - 1;
        sessions.highest_used = 0;
      });
      Connect({.nconnect = nconnect});
      std::atomic<int> good{0};
      {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) {
          threads.emplace_back([&] {
            for (int n = 0; n < 50; ++n) good += Stat() == kOk;
          });
        }
      }
      EXPECT_EQ(good.load(), 8 * 50);
      EXPECT_LT(server_.WithSessions([](FakeSessions& s) { return s.highest_used; }), slots);
      EXPECT_EQ(Stat(), kOk);
      nfs_ = nullptr;
    }
  }
}

// More calls of one thread than there are slots.
TEST_F(SessionsTest, OneThreadMayStartMoreCallsThanThereAreSlots) {
  server_.WithSessions([](FakeSessions& sessions) { sessions.slots_max = 1; });
  Connect();
  std::vector<std::string> names;
  for (int i = 0; i < 400; ++i) names.push_back("name" + std::to_string(i));
  for (const std::string& name : names) server_.Put(name, {});
  std::vector<std::vector<std::string_view>> paths;
  for (const std::string& name : names) paths.push_back({name});
  std::vector<LookupQuestion> questions;
  for (const auto& path : paths) questions.push_back({root_, path});
  std::vector<LookupPathReply> replies(questions.size());
  nfs_->LookupBatch(questions, kRoot, replies);
  for (const LookupPathReply& reply : replies) EXPECT_EQ(reply.error, kOk);
}

TEST_F(SessionsTest, ASlotWhoseCallWasGivenUpIsUsedAgain) {
  server_.WithSessions([](FakeSessions& sessions) { sessions.slots_max = 1; });
  for (const Kind kind : {Kind::kSilence, Kind::kHoldReply}) {
    Connect();
    server_.Inject(OP_GETATTR, {.kind = kind});
    {
      const CallDeadline soon(CallDeadline::Clock::now() + std::chrono::milliseconds(50));
      EXPECT_EQ(Stat(), std::errc::timed_out);
    }
    server_.ExecuteHeld();
    EXPECT_EQ(Stat(), kOk);
    EXPECT_EQ(Stat(), kOk);
    nfs_ = nullptr;
  }
  EXPECT_EQ(sessions_made(), 2) << "one a mount";
}

TEST_F(SessionsTest, ASlotWhoseCallNeverCameIsUsedAgain) {
  server_.WithSessions([](FakeSessions& sessions) { sessions.slots_max = 1; });
  Connect();
  server_.Inject(OP_GETATTR, {.kind = Kind::kHold});  // not executed yet
  {
    const CallDeadline soon(CallDeadline::Clock::now() + std::chrono::milliseconds(50));
    EXPECT_EQ(Stat(), std::errc::timed_out);
  }
  EXPECT_EQ(Stat(), kOk);
  server_.ExecuteHeld();  // too late: its session has ended
  EXPECT_EQ(Stat(), kOk);
  EXPECT_EQ(sessions_made(), 2);
}

// WIRE-39.
TEST_F(SessionsTest, AServerThatRestartsHasAnotherClient) {
  Connect();
  server_.Restart(false);
  EXPECT_EQ(Stat(), kOk);
  EXPECT_EQ(clients_made(), 2);
  EXPECT_EQ(server_.calls(kOpReclaimComplete), 2);
}

TEST_F(SessionsTest, SessionsThatEndUnderLoadCostNoCall) {
  Connect({.nconnect = 4});
  const FileHandle file = nfs_->Lookup(root_, "f", kRoot).handle;
  const std::vector<std::byte> data(1 << 20);
  constexpr int kThreads = 8, kWrites = 8;
  uint32_t slots = 64;
  std::atomic<int> running{kThreads}, good{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < kWrites; ++n) {
          good += nfs_->Write(file, 0, data, nullptr, kRoot).error == kOk;
        }
        --running;
      });
    }
    for (int calls = 5; running.load() > 0; calls += 5) {
      while (running.load() > 0 && server_.calls(OP_WRITE) < calls) std::this_thread::yield();
      slots = slots == 64 ? 1 : slots * 2;  // fewer than connections, too
      server_.WithSessions([&](FakeSessions& sessions) { sessions.slots_max = slots; });
      server_.EndSessions();
    }
  }
  EXPECT_EQ(good.load(), kThreads * kWrites);
  EXPECT_EQ(clients_made(), 1);
}

// WIRE-39. Calls of all connections: those that wait for the session, that were sent in the one
// before, that one thread has started, and that come later.
TEST_F(SessionsTest, ASessionWithFewerSlotsThanConnectionsTakesTheCallsOfAll) {
  constexpr uint32_t kConnections = 4;
  Connect({.nconnect = kConnections});
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("name" + std::to_string(i));
  for (const std::string& name : names) server_.Put(name, {});
  std::vector<std::vector<std::string_view>> paths;
  for (const std::string& name : names) paths.push_back({name});
  std::vector<LookupQuestion> questions;
  for (const auto& path : paths) questions.push_back({root_, path});
  for (const uint32_t slots : {1u, 3u, 64u, 2u}) {
    SCOPED_TRACE(slots);
    const int made = server_.calls(OP_CREATE), sessions = sessions_made();
    server_.WithSessions([&](FakeSessions& s) { s.slots_max = slots; });
    server_.EndSessions();
    std::atomic<int> good{0};
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 12; ++i) {
        threads.emplace_back([&, i] {
          const std::string name = std::to_string(slots) + "_" + std::to_string(i);
          good += nfs_->MakeDirectory(root_, name, {.mode = 0755}, kRoot).error == kOk;
          good += Stat() == kOk;
        });
      }
      std::vector<LookupPathReply> replies(questions.size());
      nfs_->LookupBatch(questions, kRoot, replies);
      for (const LookupPathReply& reply : replies) EXPECT_EQ(reply.error, kOk);
    }
    EXPECT_EQ(good.load(), 2 * 12);
    EXPECT_EQ(server_.calls(OP_CREATE), made + 12);
    EXPECT_EQ(sessions_made(), sessions + 1);
  }
}

TEST_F(SessionsTest, AnOpenFileStandsOverTheEndOfItsSession) {
  Connect();
  const FileHandle file = nfs_->Lookup(root_, "f", kRoot).handle;
  OpenReply opened = nfs_->Open(root_, "f", file, true, false, kRoot);
  ASSERT_EQ(opened.error, kOk);
  const int opens = server_.calls(OP_OPEN);
  server_.EndSessions();
  std::array<std::byte, 4> into;
  EXPECT_EQ(nfs_->Read(file, 0, into, opened.state.get(), kRoot).count_bytes, 4u);
  EXPECT_EQ(server_.calls(OP_OPEN), opens);
  opened.state.reset();
  EXPECT_EQ(server_.opens(), 0u);
}

// WIRE-39. RECLAIM_COMPLETE of the thread that gets sessions does not wait for one.
TEST_F(SessionsTest, ASessionThatEndsBeforeAllIsReclaimedIsReplacedToo) {
  server_.set_lease_seconds(1);
  Connect();
  server_.Restart(false);
  server_.Before(OP_PUTROOTFH, [this] { server_.EndSessions(); });  // GETATTR of the lease time
  server_.AwaitCalls(kOpReclaimComplete, 2);                        // after the next renewal
  EXPECT_EQ(Stat(), kOk);
  EXPECT_EQ(clients_made(), 2);
}

TEST_F(SessionsTest, ALeaseIsRenewedWithoutAnOpenFile) {
  server_.set_lease_seconds(1);
  Connect();
  server_.AwaitCalls(kOpSequence, server_.calls(kOpSequence) + 3);
  EXPECT_EQ(clients_made(), 1);
}

// SEQ4_STATUS_RESTART_RECLAIM_NEEDED, until RECLAIM_COMPLETE.
TEST_F(SessionsTest, AFlagThatSaysThatAllIsToBeReclaimedIsFollowed) {
  Connect();
  server_.WithSessions([](FakeSessions& sessions) { sessions.status_flags = 0x100; });
  server_.Before(kOpReclaimComplete, [this] {
    server_.WithSessions([](FakeSessions& sessions) { sessions.status_flags = 0; });
  });
  EXPECT_EQ(Stat(), kOk);
  server_.AwaitCalls(kOpReclaimComplete, 2);
  EXPECT_EQ(Stat(), kOk);
  EXPECT_EQ(clients_made(), 2);
}

TEST_F(SessionsTest, AGrantThatIsOfNoUseIsRefused) {
  for (const uint32_t slots : {0u, 64u}) {
    server_.WithSessions([&](FakeSessions& sessions) {
      sessions.slots_max = slots;
      sessions.operations_max = slots == 0 ? 64 : 2;
    });
    const auto refused = TryToConnect(1);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().error, std::errc::protocol_error) << slots;
  }
}

TEST_F(SessionsTest, ACallHasNoMoreOperationsThanTheServerTakes) {
  server_.WithSessions([](FakeSessions& sessions) { sessions.operations_max = 20; });
  Connect();
  std::vector<std::string_view> names(40, ".");
  std::string path;
  std::vector<std::string> paths;
  for (int i = 0; i < 40; ++i) {
    path += (i == 0 ? "" : "/") + std::string("d");
    server_.Put(path, {.type = FakeNode::Type::kDirectory, .mode = 0755, .nlink = 2});
    names[static_cast<size_t>(i)] = "d";
  }
  const int calls = server_.calls(kOpSequence);
  EXPECT_EQ(nfs_->LookupPath(root_, names, kRoot).steps.size(), 40u);
  EXPECT_EQ(server_.calls(kOpSequence) - calls, 10) << "four names a call";
}

TEST_F(SessionsTest, ACallThatWaitsForASessionEndsAtItsDeadline) {
  Connect();
  server_.Inject(kOpCreateSession, {.status = NFS4ERR_DELAY}, kForEver);
  server_.EndSessions();
  {
    const CallDeadline soon(CallDeadline::Clock::now() + std::chrono::milliseconds(300));
    EXPECT_EQ(Stat(), std::errc::timed_out);
  }
  server_.ClearFaults();
  EXPECT_EQ(Stat(), kOk);
}

}  // namespace
}  // namespace nfswalk::protocol
