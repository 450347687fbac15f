// Files that the server delegates: what opens and attributes cost then, what ends a delegation, and
// that nothing is answered from one that has ended.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "nfsclient/nfs4/operation_names.h"
#include "rcu/sync_point.h"
#include "tests/unit/nfsclient/api/delegating_server.h"

namespace nfswalk {
namespace {

using protocol::FakeNfs4;
using protocol::FakeSessions;
using protocol::Xdr;
using protocol::XdrReader;
using Grants = FakeNfs4::Grants;

// Content of "f" that was "old" before Change().
const std::string kChanged("old\0\0", 5);

using DelegationsTest = DelegatingServer;

// DELEG-1, DELEG-2.
TEST_F(DelegationsTest, OpensAndAttributesOfADelegatedFileCostNothing) {
  MountCallable();
  GetDelegation();
  const int opens = calls(OP_OPEN), closes = calls(OP_CLOSE), asked = calls(OP_GETATTR);
  for (int i = 0; i < 10; ++i) {
    EXPECT_NE(OpenToRead(), nullptr);
    EXPECT_EQ(StatSize(), 3u);
  }
  EXPECT_EQ(calls(OP_OPEN), opens);
  EXPECT_EQ(calls(OP_CLOSE), closes);
  EXPECT_EQ(calls(OP_GETATTR), asked);
  EXPECT_EQ(client_->stats().delegated_opens, 10u);
  EXPECT_EQ(ReadNow(), "old");
  EXPECT_EQ(nfs4_.opens(), 1u) << "that of the delegation";
}

TEST_F(DelegationsTest, NodesAreOpenedByThem) {
  MountCallable();
  GetDelegation();
  const auto node = std::move(*client_->Resolve("f", kUser));
  const int opens = calls(OP_OPEN);
  const auto file = std::move(*node->Open("", kMayRead, kUser));
  EXPECT_EQ(ReadAll(*file), "old");
  EXPECT_EQ(calls(OP_OPEN), opens);
}

// DELEG-3.
TEST_F(DelegationsTest, NothingIsAnsweredFromOneThatWasRecalled) {
  MountCallable();
  GetDelegation();
  RecallAndChange();
  EXPECT_EQ(StatSize(), 5u);
  const int opens = calls(OP_OPEN);
  EXPECT_EQ(ReadNow(), kChanged);
  EXPECT_EQ(calls(OP_OPEN), opens + 1);
  EXPECT_EQ(nfs4_.delegations(), 1u) << "asked for again";
}

TEST_F(DelegationsTest, AFileThatIsOpenOutlivesItsDelegation) {
  MountCallable();
  GetDelegation();
  std::unique_ptr<File> one = OpenToRead(), other = OpenToRead();
  const int closes = calls(OP_CLOSE);
  RecallAndChange();
  EXPECT_EQ(ReadAll(*one), kChanged);
  EXPECT_EQ(ReadAll(*other), kChanged);
  one = nullptr;
  EXPECT_EQ(calls(OP_CLOSE), closes);
  other = nullptr;
  // The thread that returns the delegation may be the last to hold the open.
  server_.AwaitCalls(OP_CLOSE, closes + 1);
  while (nfs4_.opens() != 0) std::this_thread::yield();
}

TEST_F(DelegationsTest, AClosedFileIsClosedWithItsDelegation) {
  MountCallable();
  GetDelegation();
  EXPECT_EQ(nfs4_.opens(), 1u);
  RecallAndChange();
  server_.AwaitCalls(OP_CLOSE, 1);
  EXPECT_EQ(ReadNow(), kChanged);
}

// DELEG-4: the reply to the OPEN comes after the recall of what it grants.
TEST_F(DelegationsTest, ARecallMayComeBeforeTheGrant) {
  MountCallable();
  server_.Before(
      OP_OPEN, [&] { EXPECT_EQ(CallBack(nfs4_.LastRecall(/*next=*/true)), NFS4ERR_BAD_STATEID); });
  EXPECT_NE(OpenToRead(), nullptr);
  server_.AwaitCalls(OP_DELEGRETURN, 1);
  Change();
  EXPECT_EQ(StatSize(), 5u);
}

TEST_F(DelegationsTest, ARecallMayComeWhileTheGrantIsTakenIn) {
  MountCallable();
  rcu::SyncPointScript::OnReach("delegation:watched", [&] {
    rcu::SyncPointScript::ClearAll();
    EXPECT_EQ(CallBack(nfs4_.LastRecall()), NFS4_OK);
  });
  EXPECT_NE(OpenToRead(), nullptr);
  server_.AwaitCalls(OP_DELEGRETURN, 1);
  Change();
  EXPECT_EQ(StatSize(), 5u);
}

TEST_F(DelegationsTest, ARecallMayComeWhileAFileIsOpened) {
  MountCallable();
  GetDelegation();
  rcu::SyncPointScript::OnReach("open:registered", [&] {
    rcu::SyncPointScript::ClearAll();
    RecallAndChange();
  });
  const int opens = calls(OP_OPEN);
  const auto file = OpenToRead();
  EXPECT_EQ(ReadAll(*file), kChanged);
  EXPECT_EQ(file->attributes().size_bytes, 5u);
  EXPECT_EQ(calls(OP_OPEN), opens + 1) << "by the server";
}

TEST_F(DelegationsTest, ASecondRecallChangesNothing) {
  MountCallable();
  GetDelegation();
  const auto file = OpenToRead();
  const Xdr recall = nfs4_.LastRecall();
  EXPECT_EQ(CallBack(recall), NFS4_OK);
  server_.AwaitCalls(OP_DELEGRETURN, 1);
  (void)CallBack(recall);  // it may be unknown by now
  EXPECT_EQ(ReadNow(), "old");
}

// DELEG-5: whatever says that a recall may have been lost.
TEST_F(DelegationsTest, AllEndWhereTheServerMayHaveCalledInVain) {
  const std::pair<const char*, std::function<void()>> rows[] = {
      {"the connection ends",
       [&] { nfs4_.server().SendBytes(channel_.connection, "GET / HTTP/1.1\r\n\r\n"); }},
      {"CB_PATH_DOWN", [&] { SetFlags(0x1); }},
      {"CB_PATH_DOWN_SESSION", [&] { SetFlags(0x200); }},
      {"BACKCHANNEL_FAULT", [&] { SetFlags(0x400); }},
      {"RECALLABLE_STATE_REVOKED", [&] { SetFlags(0x40); }},
      {"EXPIRED_SOME_STATE_REVOKED", [&] { SetFlags(0x10); }},
      {"ADMIN_STATE_REVOKED", [&] { SetFlags(0x20); }},
      {"the session ends", [&] { nfs4_.EndSessions(); }},
      {"the lease ends", [&] { nfs4_.ExpireLeases(); }},
      {"the server restarts", [&] { nfs4_.Restart(/*grace=*/false); }},
  };
  for (const auto& [what, happens] : rows) {
    SCOPED_TRACE(what);
    MountCallable();
    ASSERT_NE(OpenToRead(), nullptr);
    const uint64_t held = client_->transport_stats().delegations.held;
    EXPECT_EQ(held, 1u);
    happens();
    Change();
    while (client_->transport_stats().delegations.held != 0) {
      (void)client_->GetSpace("f", kUser);  // asks the server
    }
    EXPECT_EQ(StatSize(), 5u);
    EXPECT_EQ(ReadNow(), kChanged);
    SetFlags(0);
    client_ = nullptr;
    bindings_ = server_.calls(protocol::kOpBindConnToSession);
  }
}

// Gives up an OPEN, so that the delegation that came with it is not known.
TEST_F(DelegationsTest, OneThatIsNotKnownIsReturnedWhenItIsRecalledTwice) {
  MountCallable();
  nfs4_.Inject(OP_OPEN, {.kind = protocol::FakeFault::Kind::kHold});
  Interrupted([&] { EXPECT_FALSE(client_->Open("f", kMayRead, kUser).has_value()); });
  server_.ExecuteHeld();
  server_.AwaitCalls(OP_CLOSE, 1);
  EXPECT_EQ(nfs4_.delegations(), 1u);
  const Xdr recall = nfs4_.LastRecall();
  EXPECT_EQ(CallBack(recall), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(CallBack(recall), NFS4ERR_BAD_STATEID);
  server_.AwaitCalls(OP_DELEGRETURN, 1);
  EXPECT_EQ(nfs4_.delegations(), 0u);
}

// DELEG-3: what is not answered is sent again by another thread.
TEST_F(DelegationsTest, AReturnThatGetsNoAnswerIsMadeLater) {
  MountCallable();
  GetDelegation();
  nfs4_.Inject(OP_DELEGRETURN, {.kind = protocol::FakeFault::Kind::kHold});
  Interrupted([&] { EXPECT_NE(client_->Unlink("f", kUser), kOk); });
  server_.ExecuteHeld();
  server_.AwaitCalls(OP_DELEGRETURN, 2);
  EXPECT_EQ(nfs4_.delegations(), 0u);
}

TEST_F(DelegationsTest, NoneIsAskedForWhereTheServerCannotCall) {
  nfs4_.Inject(protocol::kOpBindConnToSession, {.status = NFS4ERR_NOTSUPP}, 1000);
  server_.Put("f", {.mode = 0666, .data = "old"});
  client_ = std::move(*Client::MountOver(Connect(), options_));
  server_.AwaitCalls(protocol::kOpBindConnToSession, 1);
  EXPECT_NE(OpenToRead(), nullptr);
  EXPECT_EQ(nfs4_.delegations(), 0u);
}

TEST_F(DelegationsTest, NoneIsAskedForToWriteOrWithNodelegs) {
  MountCallable();
  EXPECT_NE(Open(kMayRead | kMayWrite), nullptr);
  EXPECT_NE(Open(kMayWrite), nullptr);
  EXPECT_EQ(nfs4_.delegations(), 0u);
  options_.delegations = false;
  MountCallable();
  EXPECT_NE(OpenToRead(), nullptr);
  EXPECT_EQ(nfs4_.delegations(), 0u);
}

// WIRE-36: one that is not what was asked for, or is wanted back, is not used.
TEST_F(DelegationsTest, OthersThanThoseAskedForAreReturned) {
  for (const Grants grants : {Grants::kWrite, Grants::kEnded}) {
    nfs4_.GrantDelegations(grants);
    MountCallable();
    const int returns = calls(OP_DELEGRETURN);
    EXPECT_NE(OpenToRead(), nullptr);
    server_.AwaitCalls(OP_DELEGRETURN, returns + 1);
    Change();
    EXPECT_EQ(StatSize(), 5u);
    EXPECT_EQ(nfs4_.delegations(), 0u);
  }
}

// DELEG-6.
TEST_F(DelegationsTest, ANameIsRemovedOnceTheDelegationIsReturned) {
  MountCallable();
  GetDelegation();
  server_.Before(OP_REMOVE, [&] { EXPECT_EQ(nfs4_.delegations(), 0u); });
  EXPECT_EQ(client_->Unlink("f", kUser), kOk);
  EXPECT_EQ(nfs4_.opens(), 0u);
  server_.Put("f", {.mode = 0666, .data = "old"});
  server_.Put("g", {.mode = 0666, .data = "other"});
  client_->InvalidateCaches();
  GetDelegation();
  server_.Before(OP_RENAME, [&] { EXPECT_EQ(nfs4_.delegations(), 0u); });
  EXPECT_EQ(client_->Rename("g", *client_, "f", kUser), kOk);
  EXPECT_EQ(nfs4_.opens(), 0u);
}

TEST_F(DelegationsTest, TheEndOfTheMountReturnsThem) {
  MountCallable();
  GetDelegation();
  client_ = nullptr;
  EXPECT_EQ(nfs4_.delegations(), 0u);
  EXPECT_EQ(nfs4_.opens(), 0u);
}

TEST_F(DelegationsTest, OurOwnWritesAreSeenUnderOne) {
  MountCallable();
  GetDelegation();
  const auto file = Open(kMayWrite);
  EXPECT_EQ(file->PWrite(Data(0, 7), 0), 7u);
  EXPECT_EQ(StatSize(), 7u);
  EXPECT_EQ(file->Close(), kOk);
  EXPECT_EQ(ReadNow(), Text(0, 7));
  EXPECT_EQ(StatSize(), 7u);
}

TEST_F(DelegationsTest, ARightThatIsNotKnownIsAskedFor) {
  server_.Put("f", {.mode = 0600, .data = "old"});
  client_ = std::move(*Client::MountOver(Connect(), options_));
  channel_ = nfs4_.AwaitBackChannel(++bindings_);
  AwaitCallable();
  EXPECT_NE(std::move(*client_->Open("f", kMayRead, Credential(0, 0))), nullptr);
  EXPECT_EQ(nfs4_.delegations(), 1u);
  const auto refused = client_->Open("f", kMayRead, kUser);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), std::errc::permission_denied);
}

// DELEG-1: the reply to a request that was sent after the OPEN, executed before it, and comes
// later.
TEST_F(DelegationsTest, AReplyFromBeforeTheGrantDoesNotOutliveIt) {
  MountCallable();
  EXPECT_EQ(StatSize(), 3u);
  nfs4_.Inject(OP_OPEN, {.kind = protocol::FakeFault::Kind::kHold});
  std::unique_ptr<File> file;
  std::thread opener([&] { file = OpenToRead(); });
  EXPECT_TRUE(server_.AwaitHeld({}));
  rcu::SyncPointScript::OnReach("revalidate:after-getattr", [&] {
    rcu::SyncPointScript::ClearAll();
    Change();
    server_.ExecuteHeld();
    opener.join();
    EXPECT_EQ(nfs4_.delegations(), 1u);
  });
  EXPECT_EQ(StatSize(), 5u);
  EXPECT_EQ(StatSize(), 5u);
}

class DelegationsOf4_0 : public DelegatingServer {
 protected:
  DelegationsOf4_0() : DelegatingServer(0) {}
};

TEST_F(DelegationsOf4_0, NoneIsAskedFor) {
  server_.Put("f", {.mode = 0666, .data = "old"});
  client_ = std::move(*Client::MountOver(Connect(), options_));
  EXPECT_NE(OpenToRead(), nullptr);
  EXPECT_EQ(nfs4_.delegations(), 0u);
}

}  // namespace
}  // namespace nfswalk
