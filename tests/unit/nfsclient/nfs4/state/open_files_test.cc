#include "nfsclient/nfs4/state/open_files.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/nfsclient/nfs4/state/open_files_fixture.h"

namespace nfswalk::protocol {
namespace {

TEST_F(OpenFilesTest, NothingIsSentBeforeTheFirstOpen) {
  open_files_.reset();
  EXPECT_EQ(caller_->calls_sent(), 0u);
  EXPECT_EQ(server_.calls(ClientOperation()), 0);
}

TEST_F(OpenFilesTest, AnOpenFileIsReadThroughItsStateAndClosedByItsDestructor) {
  std::unique_ptr<OpenState> state = OpenFile();
  EXPECT_NE(OpenFiles::StateOf(state.get()), StateId{});
  EXPECT_EQ(Read(state.get()).data, "hello");
  EXPECT_EQ(server_.opens(), 1u);
  state.reset();
  EXPECT_EQ(server_.opens(), 0u);
  EXPECT_EQ(server_.calls(ClientOperation()), 1);
}

TEST_F(OpenFilesTest, AnOpenReturnsTheFileAndTheDirectorysChange) {
  OpenFiles::Request request = CreateRequest("new", How::kUnchecked);
  request.attributes.mode = 0640;
  const OpenFiles::Opened opened = Open(request);
  ASSERT_EQ(opened.error, kOk);
  const FakeNode made = server_.Find("new").value();
  EXPECT_EQ(opened.handle, HandleOf(made.handle()));
  ASSERT_TRUE(opened.attributes && opened.directory.before && opened.directory.after);
  EXPECT_EQ(opened.attributes->fileid, made.fileid);
  EXPECT_EQ(opened.attributes->mode, 0640u);
  EXPECT_NE(opened.directory.before->change, opened.directory.after->change);
}

TEST_F(OpenFilesTest, OnlyTheFirstOpenOfAnOwnerIsConfirmed) {
  for (int i = 0; i < 3; ++i) OpenFile();
  EXPECT_EQ(server_.calls(OP_OPEN), 3);
  EXPECT_EQ(server_.calls(OP_OPEN_CONFIRM), 1);
  EXPECT_EQ(server_.owners(), 1u);
}

TEST_F(OpenFilesTest, OneFileOpenedTwiceIsStillOpenAfterOneClose) {
  const std::unique_ptr<OpenState> first = OpenFile();
  std::unique_ptr<OpenState> second = OpenFile();
  EXPECT_NE(OpenFiles::StateOf(first.get()), OpenFiles::StateOf(second.get()));
  second.reset();
  EXPECT_EQ(server_.opens(), 1u);
  EXPECT_EQ(Read(first.get()).data, "hello");
}

TEST_F(OpenFilesTest, EachCredentialHasItsOwnOwnersAndTheClientIdIsTheProcesss) {
  EXPECT_EQ(Open(OpenRequest(), kUser).error, kOk);
  EXPECT_EQ(server_.last_uid(OP_OPEN), 1000u);
  EXPECT_EQ(Open(OpenRequest(), Credential(2000, 100)).error, kOk);
  EXPECT_EQ(server_.last_uid(OP_CLOSE), 2000u);
  EXPECT_EQ(server_.owners(), 2u);
  EXPECT_EQ(server_.last_uid(OP_SETCLIENTID), Credential::OfProcess().uid());
}

TEST_F(OpenFilesTest, ARefusedOpenLeavesNoStateAndItsOwnerIsReused) {
  server_.Put("secret", {.mode = 0600, .uid = 1});
  EXPECT_EQ(Open(OpenRequest("secret")).error, std::errc::permission_denied);
  EXPECT_EQ(Open(OpenRequest("none")).error, std::errc::no_such_file_or_directory);
  EXPECT_EQ(server_.opens(), 0u);
  OpenFile();
  EXPECT_EQ(server_.calls(OP_OPEN), 3);
  EXPECT_EQ(server_.owners(), 1u);
}

// The server counts the delayed call, so a retransmission would get its reply again.
TEST_F(OpenFilesTest, DelayAndGraceAreRetriedWithTheNextSequenceNumber) {
  for (const int status : {NFS4ERR_DELAY, NFS4ERR_GRACE}) {
    server_.Inject(OP_OPEN, Fails(status));
    server_.Inject(OP_OPEN_CONFIRM, Fails(status));
    server_.Inject(OP_CLOSE, Fails(status));
    std::unique_ptr<OpenState> state = OpenFile();
    state.reset();
    EXPECT_EQ(server_.opens(), 0u);
  }
  EXPECT_EQ(server_.owners(), 1u);
  EXPECT_EQ(server_.calls(OP_OPEN), 4);
  EXPECT_EQ(server_.calls(OP_CLOSE), 4);
}

TEST_F(OpenFilesTest, DelayOfAnotherOperationIsRetried) {
  server_.Inject(OP_SETCLIENTID, Fails(NFS4ERR_DELAY));
  server_.Inject(OP_SETCLIENTID_CONFIRM, Fails(NFS4ERR_DELAY));
  server_.Inject(OP_PUTFH, Fails(NFS4ERR_DELAY));
  OpenFile();
  EXPECT_EQ(server_.calls(OP_OPEN), 1);
}

class LostOpenCall : public OpenFilesTest,
                     public testing::WithParamInterface<std::tuple<nfs_opnum4, Kind>> {};

TEST_P(LostOpenCall, IsRetransmittedAndExecutedOnce) {
  const auto [operation, kind] = GetParam();
  server_.Inject(operation, {kind}, 2);
  OpenFiles::Opened opened = Open(CreateRequest("new", How::kGuarded));
  EXPECT_EQ(opened.error, kOk);
  EXPECT_EQ(opened.handle, HandleOf(server_.Find("new").value().handle()));
  EXPECT_EQ(server_.opens(), 1u);
  opened.state.reset();
  EXPECT_EQ(server_.opens(), 0u);
  EXPECT_EQ(server_.calls(operation), 3);
  EXPECT_EQ(server_.owners(), 1u);
  OpenFile();  // with the sequence number that the server expects
  EXPECT_EQ(server_.owners(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, LostOpenCall,
                         testing::Combine(testing::Values(OP_OPEN, OP_OPEN_CONFIRM, OP_CLOSE),
                                          testing::Values(Kind::kLoseCall, Kind::kLoseReply)));

TEST_F(OpenFilesTest, AnOwnerWithBadSeqidIsReplaced) {
  OpenFile();
  server_.Inject(OP_OPEN, Fails(NFS4ERR_BAD_SEQID));
  const auto state = OpenFile();
  EXPECT_EQ(server_.owners(), 2u);
  EXPECT_EQ(Read(state.get()).data, "hello");
}

// The server then answers BAD_SEQID, as it expects the number before.
TEST_F(OpenFilesTest, AServerMayNotCountDelayedCalls) {
  constexpr int kPutOffs = 4;
  for (int i = 0; i < kPutOffs; ++i) {
    server_.Inject(OP_OPEN, Fails(NFS4ERR_GRACE));
    server_.Inject(OP_OPEN, Fails(NFS4ERR_BAD_SEQID));
  }
  EXPECT_EQ(Open(OpenRequest()).error, kOk);
  EXPECT_EQ(server_.calls(OP_OPEN), 2 * kPutOffs + 1);
}

class RefusedOpen : public OpenFilesTest, public testing::WithParamInterface<nfsstat4> {};

TEST_P(RefusedOpen, RefusalOfEveryOwnerAndClientIdIsAnError) {
  server_.Inject(OP_OPEN, Fails(GetParam()), 100);
  EXPECT_EQ(Open(OpenRequest()).error, std::errc::io_error);
  EXPECT_LT(server_.calls(OP_OPEN), 10);
  EXPECT_LT(server_.calls(ClientOperation()), 10);
}

INSTANTIATE_TEST_SUITE_P(All, RefusedOpen,
                         testing::Values(NFS4ERR_BAD_SEQID, NFS4ERR_STALE_CLIENTID));

TEST_F(OpenFilesTest, AGuardedCreateWhoseStateWasLostDoesNotFailWithEEXIST) {
  server_.Inject(OP_OPEN_CONFIRM, Fails(NFS4ERR_BAD_STATEID));
  EXPECT_EQ(Open(CreateRequest("new", How::kGuarded)).error, kOk);
  const OpenFiles::Request request = CreateRequest("newer", How::kGuarded);
  server_.Before(OP_OPEN_CONFIRM, [&] { server_.Restart(false); });
  server_.ExpireLeases();  // the next OPEN has a new owner, to be confirmed
  EXPECT_EQ(Open(request).error, kOk);
  EXPECT_EQ(Open(request).error, std::errc::file_exists);
}

TEST_F(OpenFilesTest, ARefusedNumericOwnerIsSentAsAName) {
  OpenFiles::Request request = CreateRequest("new", How::kUnchecked);
  request.attributes.uid = 1000;
  server_.Inject(OP_OPEN, Fails(NFS4ERR_BADOWNER));
  EXPECT_EQ(Open(request).error, kOk);
  EXPECT_EQ(server_.calls(OP_OPEN), 2);
  server_.Inject(OP_OPEN, Fails(NFS4ERR_BADOWNER));
  EXPECT_EQ(Open(request).error, std::errc::invalid_argument);
}

struct BrokenReply {
  std::string name;
  int operation;
  FakeFault fault;
  int after;
};
class BrokenOpenReply : public OpenFilesTest, public testing::WithParamInterface<BrokenReply> {};

TEST_P(BrokenOpenReply, DoesNotLoseTheOpen) {
  server_.Inject(GetParam().operation, GetParam().fault, 1, GetParam().after);
  OpenFiles::Opened opened = Open(OpenRequest());
  ASSERT_EQ(opened.error, kOk);
  EXPECT_EQ(opened.handle, HandleOf(server_.Find("f").value().handle()));
  file_ = opened.handle;
  EXPECT_EQ(Read(opened.state.get()).data, "hello");
  opened.state.reset();
  EXPECT_EQ(server_.opens(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenOpenReply,
    testing::Values(BrokenReply{"CutShortAfterTheOpen", OP_OPEN, {Kind::kCutShort}, 0},
                    BrokenReply{"WithoutAHandle", OP_GETFH, Fails(NFS4ERR_DELAY), 0},
                    // The first GETATTR is that of the lease time.
                    BrokenReply{"WithoutAttributes", OP_GETATTR, Fails(NFS4ERR_DELAY), 1},
                    BrokenReply{"WithMalformedAttributes", OP_GETATTR, {Kind::kMalformed}, 1},
                    BrokenReply{"WithoutTheDirectory", OP_RESTOREFH, Fails(NFS4ERR_DELAY), 0},
                    BrokenReply{"OutOfOrderAfterTheOpen", OP_GETFH, {Kind::kOutOfOrder}, 0}),
    [](const auto& test) { return test.param.name; });

// By its name another file is found by then.
TEST_F(OpenFilesTest, AStateIdIsOfTheFileThatWasOpenedWhateverHasItsNameNow) {
  OpenFile();
  const FileHandle opened_file = file_;
  server_.Inject(OP_GETFH, Fails(NFS4ERR_DELAY));
  server_.Before(OP_OPEN, [&] {
    server_.Before(OP_OPEN, [&] {
      server_.Link("f", "kept");
      server_.Erase("f");
      server_.Put("f", {.mode = 0666, .data = "other"});
    });
  });
  OpenFiles::Opened opened = Open(OpenRequest());
  ASSERT_EQ(opened.error, kOk);
  EXPECT_EQ(opened.handle, opened_file);
  EXPECT_EQ(Read(opened.state.get(), opened.handle).data, "hello");
  opened.state.reset();
  EXPECT_EQ(server_.opens(), 0u);
}

// WIRE-36.
class GrantedDelegation : public OpenFilesTest, public testing::WithParamInterface<bool> {};

TEST_P(GrantedDelegation, IsReturnedAtOnce) {
  server_.GrantDelegations(GetParam() ? FakeNfs4::Grants::kWrite : FakeNfs4::Grants::kAlways);
  const std::unique_ptr<OpenState> state = OpenFile();
  EXPECT_EQ(server_.calls(OP_DELEGRETURN), 1);
  EXPECT_EQ(server_.delegations(), 0u);
  EXPECT_EQ(Read(state.get()).data, "hello");
}

INSTANTIATE_TEST_SUITE_P(All, GrantedDelegation, testing::Bool());

TEST_F(OpenFilesTest, AReplyWithoutTheOpenIsAnErrorAndItsOwnerIsDropped) {
  for (const Kind kind : {Kind::kGarbage, Kind::kOutOfOrder}) {
    server_.Inject(OP_OPEN, {kind});
    const OpenFiles::Opened opened = Open(OpenRequest());
    EXPECT_EQ(opened.error, std::errc::io_error);
    EXPECT_EQ(opened.state, nullptr);
  }
  EXPECT_EQ(Read(OpenFile().get()).data, "hello");
  EXPECT_EQ(server_.owners(), 3u);
}

TEST_F(OpenFilesTest, AfterAnOpenThatTimedOutTheNextOneHasAnotherOwner) {
  Connect({.hard = false, .timeo_ds = 10, .retrans = 0});
  OpenFile();
  server_.Inject(OP_OPEN, {Kind::kSilence});
  EXPECT_EQ(Open(OpenRequest()).error, std::errc::timed_out);
  EXPECT_EQ(Read(OpenFile().get()).data, "hello");
  EXPECT_EQ(server_.owners(), 2u);
}

TEST_F(OpenFilesTest, AfterShutdownAnOpenIsCanceledAndACloseIsNotSent) {
  std::unique_ptr<OpenState> state = OpenFile();
  caller_->Shutdown();
  open_files_->Shutdown();
  EXPECT_EQ(Open(OpenRequest()).error, std::errc::operation_canceled);
  open_files_.reset();
  caller_.reset();
  state.reset();  // uses neither
  EXPECT_EQ(server_.calls(OP_CLOSE), 0);
}

TEST_F(OpenFilesTest, AtShutdownNoCloseIsSent) {
  std::unique_ptr<OpenState> state = OpenFile();
  open_files_->Shutdown();
  state.reset();
  EXPECT_EQ(server_.calls(OP_CLOSE), 0);
}

TEST_F(OpenFilesTest, AStateThatOutlivesTheOpensCloses) {
  std::unique_ptr<OpenState> state = OpenFile();
  open_files_.reset();
  state.reset();
  EXPECT_EQ(server_.opens(), 0u);
}

TEST_F(OpenFilesTest, AClientIdInUseIsReplacedByANewIdString) {
  server_.Inject(OP_SETCLIENTID, Fails(NFS4ERR_CLID_INUSE));
  OpenFile();
  EXPECT_EQ(server_.calls(ClientOperation()), 2);
}

TEST_F(OpenFilesTest, ARestartBeforeTheConfirmationEstablishesAnotherClientId) {
  server_.Before(OP_SETCLIENTID_CONFIRM, [&] { server_.Restart(false); });
  OpenFile();
  EXPECT_EQ(server_.calls(ClientOperation()), 2);
}

}  // namespace
}  // namespace nfswalk::protocol
