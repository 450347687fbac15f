#include "nfsclient/protocol/nfs4_opens.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/nfsclient/protocol/nfs4_opens_fixture.h"

namespace nfswalk::protocol {
namespace {

TEST_F(Nfs4OpensTest, NothingIsSentBeforeTheFirstOpen) {
  opens_.reset();
  EXPECT_EQ(caller_->calls_sent(), 0u);
  EXPECT_EQ(server_.calls(Op::kSetClientId), 0);
}

TEST_F(Nfs4OpensTest, AnOpenFileIsReadThroughItsStateAndClosedByItsDestructor) {
  std::unique_ptr<OpenState> state = OpenFile();
  EXPECT_NE(Nfs4Opens::StateOf(state.get()), StateId{});
  EXPECT_EQ(Read(state.get()).data, "hello");
  EXPECT_EQ(server_.opens(), 1u);
  state.reset();
  EXPECT_EQ(server_.opens(), 0u);
  EXPECT_EQ(server_.calls(Op::kSetClientId), 1);
}

TEST_F(Nfs4OpensTest, AnOpenReturnsTheFileAndTheDirectorysChange) {
  Nfs4Opens::OpenRequest request = OpenRequest("new");
  request.how = How::kUnchecked;
  request.attributes.mode = 0640;
  const Nfs4Opens::Opened opened = Open(request);
  ASSERT_EQ(opened.error, kOk);
  const FakeNode made = server_.Find("new").value();
  EXPECT_EQ(opened.handle, HandleOf(made.handle()));
  ASSERT_TRUE(opened.attributes && opened.directory.before && opened.directory.after);
  EXPECT_EQ(opened.attributes->fileid, made.fileid);
  EXPECT_EQ(opened.attributes->mode, 0640u);
  EXPECT_NE(opened.directory.before->change, opened.directory.after->change);
}

TEST_F(Nfs4OpensTest, OnlyTheFirstOpenOfAnOwnerIsConfirmed) {
  for (int i = 0; i < 3; ++i) OpenFile();
  EXPECT_EQ(server_.calls(Op::kOpen), 3);
  EXPECT_EQ(server_.calls(Op::kConfirmOpen), 1);
  EXPECT_EQ(server_.owners(), 1u);
}

TEST_F(Nfs4OpensTest, OneFileOpenedTwiceIsStillOpenAfterOneClose) {
  const std::unique_ptr<OpenState> first = OpenFile();
  std::unique_ptr<OpenState> second = OpenFile();
  EXPECT_NE(Nfs4Opens::StateOf(first.get()), Nfs4Opens::StateOf(second.get()));
  second.reset();
  EXPECT_EQ(server_.opens(), 1u);
  EXPECT_EQ(Read(first.get()).data, "hello");
}

TEST_F(Nfs4OpensTest, EachCredentialHasItsOwnOwnersAndTheClientIdIsTheProcesss) {
  EXPECT_EQ(Open(OpenRequest(), kUser).error, kOk);
  EXPECT_EQ(server_.last_uid(Op::kOpen), 1000u);
  EXPECT_EQ(Open(OpenRequest(), kOther).error, kOk);
  EXPECT_EQ(server_.last_uid(Op::kClose), 2000u);
  EXPECT_EQ(server_.owners(), 2u);
  EXPECT_EQ(server_.last_uid(Op::kSetClientId), Credential::OfProcess().uid());
}

TEST_F(Nfs4OpensTest, ARefusedOpenLeavesNoStateAndItsOwnerIsReused) {
  server_.Put("secret", {.mode = 0600, .uid = 1});
  EXPECT_EQ(Open(OpenRequest("secret")).error, std::errc::permission_denied);
  EXPECT_EQ(Open(OpenRequest("none")).error, std::errc::no_such_file_or_directory);
  EXPECT_EQ(server_.opens(), 0u);
  OpenFile();
  EXPECT_EQ(server_.calls(Op::kOpen), 3);
  EXPECT_EQ(server_.owners(), 1u);
}

// The server counts the delayed call, so a retransmission would get its reply again.
TEST_F(Nfs4OpensTest, DelayAndGraceAreRetriedWithTheNextSequenceNumber) {
  for (const fixtures::Nfs4Status status : {fixtures::kNfs4Delay, fixtures::kNfs4Grace}) {
    server_.Inject(Op::kOpen, Fails(status));
    server_.Inject(Op::kConfirmOpen, Fails(status));
    server_.Inject(Op::kClose, Fails(status));
    std::unique_ptr<OpenState> state = OpenFile();
    state.reset();
    EXPECT_EQ(server_.opens(), 0u);
  }
  EXPECT_EQ(server_.owners(), 1u);
  EXPECT_EQ(server_.calls(Op::kOpen), 4);
  EXPECT_EQ(server_.calls(Op::kClose), 4);
}

TEST_F(Nfs4OpensTest, DelayOfAnotherOperationIsRetried) {
  server_.Inject(Op::kSetClientId, Fails(fixtures::kNfs4Delay));
  server_.Inject(Op::kConfirmClientId, Fails(fixtures::kNfs4Delay));
  server_.Inject(Op::kPutHandle, Fails(fixtures::kNfs4Delay));
  OpenFile();
  EXPECT_EQ(server_.calls(Op::kOpen), 1);
}

struct LostCall {
  Op operation;
  Kind kind;
};
class LostOpenCall : public Nfs4OpensTest, public testing::WithParamInterface<LostCall> {};

TEST_P(LostOpenCall, IsRetransmittedAndExecutedOnce) {
  Nfs4Opens::OpenRequest request = OpenRequest("new");
  request.how = How::kGuarded;
  server_.Inject(GetParam().operation, {GetParam().kind, {}}, 2);
  Nfs4Opens::Opened opened = Open(request);
  EXPECT_EQ(opened.error, kOk);
  EXPECT_EQ(opened.handle, HandleOf(server_.Find("new").value().handle()));
  EXPECT_EQ(server_.opens(), 1u);
  opened.state.reset();
  EXPECT_EQ(server_.opens(), 0u);
  EXPECT_EQ(server_.calls(GetParam().operation), 3);
  EXPECT_EQ(server_.owners(), 1u);
  OpenFile();  // with the sequence number that the server expects
  EXPECT_EQ(server_.owners(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    All, LostOpenCall,
    testing::Values(LostCall{Op::kOpen, Kind::kLoseCall}, LostCall{Op::kOpen, Kind::kLoseReply},
                    LostCall{Op::kConfirmOpen, Kind::kLoseCall},
                    LostCall{Op::kConfirmOpen, Kind::kLoseReply},
                    LostCall{Op::kClose, Kind::kLoseCall}, LostCall{Op::kClose, Kind::kLoseReply}),
    [](const auto& test) {
      const std::string operation = test.param.operation == Op::kOpen          ? "Open"
                                    : test.param.operation == Op::kConfirmOpen ? "Confirm"
                                                                               : "Close";
      return operation + (test.param.kind == Kind::kLoseCall ? "CallLost" : "ReplyLost");
    });

TEST_F(Nfs4OpensTest, AnOwnerWithBadSeqidIsReplaced) {
  OpenFile();
  server_.Inject(Op::kOpen, Fails(fixtures::kNfs4BadSeqId));
  const auto state = OpenFile();
  EXPECT_EQ(server_.owners(), 2u);
  EXPECT_EQ(Read(state.get()).data, "hello");
}

TEST_F(Nfs4OpensTest, BadSeqidOfEveryOwnerIsAnError) {
  server_.Inject(Op::kOpen, Fails(fixtures::kNfs4BadSeqId), 100);
  EXPECT_EQ(Open(OpenRequest()).error, std::errc::io_error);
  EXPECT_LT(server_.calls(Op::kOpen), 10);
}

// The server then answers BAD_SEQID, as it expects the number before.
TEST_F(Nfs4OpensTest, AServerMayNotCountDelayedCalls) {
  constexpr int kPutOffs = 4;
  for (int i = 0; i < kPutOffs; ++i) {
    server_.Inject(Op::kOpen, Fails(fixtures::kNfs4Grace));
    server_.Inject(Op::kOpen, Fails(fixtures::kNfs4BadSeqId));
  }
  EXPECT_EQ(Open(OpenRequest()).error, kOk);
  EXPECT_EQ(server_.calls(Op::kOpen), 2 * kPutOffs + 1);
}

TEST_F(Nfs4OpensTest, AServerThatForgetsEveryClientIdIsAnError) {
  server_.Inject(Op::kOpen, Fails(fixtures::kNfs4StaleClientId), 100);
  EXPECT_EQ(Open(OpenRequest()).error, std::errc::io_error);
  EXPECT_LT(server_.calls(Op::kSetClientId), 10);
}

TEST_F(Nfs4OpensTest, AGuardedCreateWhoseStateWasLostDoesNotFailWithEEXIST) {
  Nfs4Opens::OpenRequest request = OpenRequest("new");
  request.how = How::kGuarded;
  server_.Inject(Op::kConfirmOpen, Fails(fixtures::kNfs4BadStateId));
  EXPECT_EQ(Open(request).error, kOk);
  request = OpenRequest("newer");
  request.how = How::kGuarded;
  server_.Before(Op::kConfirmOpen, [](FakeNfs4& server) { server.Restart(false); });
  server_.ExpireLeases();  // the next OPEN has a new owner, to be confirmed
  EXPECT_EQ(Open(request).error, kOk);
  EXPECT_EQ(Open(request).error, std::errc::file_exists);
}

TEST_F(Nfs4OpensTest, ARefusedNumericOwnerIsSentAsAName) {
  Nfs4Opens::OpenRequest request = OpenRequest("new");
  request.how = How::kUnchecked;
  request.attributes.uid = 1000;
  server_.Inject(Op::kOpen, Fails(fixtures::kNfs4BadOwner));
  EXPECT_EQ(Open(request).error, kOk);
  EXPECT_EQ(server_.calls(Op::kOpen), 2);
  server_.Inject(Op::kOpen, Fails(fixtures::kNfs4BadOwner));
  EXPECT_EQ(Open(request).error, std::errc::invalid_argument);
}

struct BrokenReply {
  std::string name;
  Op operation;
  Nfs4Fault fault;
  int after;
};
class BrokenOpenReply : public Nfs4OpensTest, public testing::WithParamInterface<BrokenReply> {};

TEST_P(BrokenOpenReply, DoesNotLoseTheOpen) {
  server_.Inject(GetParam().operation, GetParam().fault, 1, GetParam().after);
  Nfs4Opens::Opened opened = Open(OpenRequest());
  ASSERT_EQ(opened.error, kOk);
  EXPECT_EQ(opened.handle, HandleOf(server_.Find("f").value().handle()));
  file_ = opened.handle;
  EXPECT_EQ(Read(opened.state.get()).data, "hello");
  opened.state.reset();
  EXPECT_EQ(server_.opens(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenOpenReply,
    testing::Values(
        BrokenReply{"CutShortAfterTheOpen", Op::kOpen, {Kind::kCutShort, {}}, 0},
        BrokenReply{"WithoutAHandle", Op::kGetHandle, Fails(fixtures::kNfs4Delay), 0},
        // The first GETATTR is that of the lease time.
        BrokenReply{"WithoutAttributes", Op::kGetAttributes, Fails(fixtures::kNfs4Delay), 1},
        BrokenReply{"WithMalformedAttributes", Op::kGetAttributes, {Kind::kMalformed, {}}, 1},
        BrokenReply{"WithoutTheDirectory", Op::kRestoreHandle, Fails(fixtures::kNfs4Delay), 0},
        BrokenReply{"OutOfOrderAfterTheOpen", Op::kGetHandle, {Kind::kOutOfOrder, {}}, 0}),
    [](const auto& test) { return test.param.name; });

TEST_F(Nfs4OpensTest, AReplyWithoutTheOpenIsAnErrorAndItsOwnerIsDropped) {
  for (const Kind kind : {Kind::kGarbage, Kind::kOutOfOrder}) {
    server_.Inject(Op::kOpen, {kind, {}});
    const Nfs4Opens::Opened opened = Open(OpenRequest());
    EXPECT_EQ(opened.error, std::errc::io_error);
    EXPECT_EQ(opened.state, nullptr);
  }
  EXPECT_EQ(Read(OpenFile().get()).data, "hello");
  EXPECT_EQ(server_.owners(), 3u);
}

TEST_F(Nfs4OpensTest, AfterAnOpenThatTimedOutTheNextOneHasAnotherOwner) {
  Connect({.hard = false, .timeo_ds = 10, .retrans = 0});
  OpenFile();
  server_.Inject(Op::kOpen, {Kind::kSilence, {}});
  EXPECT_EQ(Open(OpenRequest()).error, std::errc::timed_out);
  EXPECT_EQ(Read(OpenFile().get()).data, "hello");
  EXPECT_EQ(server_.owners(), 2u);
}

TEST_F(Nfs4OpensTest, AfterShutdownAnOpenIsCanceledAndACloseIsNotSent) {
  std::unique_ptr<OpenState> state = OpenFile();
  caller_->Shutdown();
  opens_->Shutdown();
  EXPECT_EQ(Open(OpenRequest()).error, std::errc::operation_canceled);
  opens_.reset();
  caller_.reset();
  state.reset();  // uses neither
  EXPECT_EQ(server_.calls(Op::kClose), 0);
}

TEST_F(Nfs4OpensTest, AtShutdownNoCloseIsSent) {
  std::unique_ptr<OpenState> state = OpenFile();
  opens_->Shutdown();
  state.reset();
  EXPECT_EQ(server_.calls(Op::kClose), 0);
}

TEST_F(Nfs4OpensTest, AStateThatOutlivesTheOpensCloses) {
  std::unique_ptr<OpenState> state = OpenFile();
  opens_.reset();
  state.reset();
  EXPECT_EQ(server_.opens(), 0u);
}

TEST_F(Nfs4OpensTest, AClientIdInUseIsReplacedByANewIdString) {
  server_.Inject(Op::kSetClientId, Fails(fixtures::kNfs4ClientIdInUse));
  OpenFile();
  EXPECT_EQ(server_.calls(Op::kSetClientId), 2);
}

TEST_F(Nfs4OpensTest, ARestartBeforeTheConfirmationEstablishesAnotherClientId) {
  server_.Before(Op::kConfirmClientId, [](FakeNfs4& server) { server.Restart(false); });
  OpenFile();
  EXPECT_EQ(server_.calls(Op::kSetClientId), 2);
}

}  // namespace
}  // namespace nfswalk::protocol
