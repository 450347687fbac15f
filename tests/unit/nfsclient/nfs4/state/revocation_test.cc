// State that the server revokes while the lease stands: sr_status_flags, TEST_STATEID,
// FREE_STATEID.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "nfsclient/nfs4/state/open_files.h"
#include "nfsclient/nfs4/state/state_id_calls.h"
#include "tests/unit/nfsclient/nfs4/state/open_files_fixture.h"

namespace nfswalk::protocol {
namespace {

constexpr uint64_t kMe = 1;
constexpr ByteRange kAll{};

class RevocationTest : public OpenFilesTest {
 protected:
  void SetUp() override {
    server_.Put("f", {.mode = 0666, .data = "hello"});
    server_.Put("g", {.mode = 0666, .data = "other"});
    Connect({}, 1);
    other_ = OpenFile("g");
    other_file_ = file_;
    state_ = OpenFile("f");
    opened_ = server_.calls(OP_OPEN);
  }
  void TearDown() override {
    other_.reset();
    state_.reset();
    OpenFilesTest::TearDown();
  }

  std::errc Lock(const OpenState& state) {
    rpc::Caller::Budget budget = caller_->NewBudget();
    return open_files_->Lock(state, kMe, {LockType::kWrite, {0, 9}}, budget).error;
  }
  std::errc Unlock() {
    rpc::Caller::Budget budget = caller_->NewBudget();
    return open_files_->Unlock(*state_, kMe, kAll, budget);
  }
  // Its reply has the flags.
  void ReadOther() { EXPECT_EQ(Read(other_.get(), other_file_).data, "other"); }
  void AwaitNothingRevoked() {
    while (server_.revoked() != 0) std::this_thread::yield();
  }
  int opened() { return server_.calls(OP_OPEN) - opened_; }

  std::unique_ptr<OpenState> state_, other_;
  FileHandle other_file_;
  int opened_ = 0;
};

// Whether the opens are revoked with the locks, and with which status.
class Revoked : public RevocationTest, public testing::WithParamInterface<std::tuple<bool, int>> {};

TEST_P(Revoked, FileThatNobodyUsesIsOpenedAnewAndItsLocksAreLost) {
  const auto [opens, status] = GetParam();
  ASSERT_EQ(Lock(*state_), kOk);
  ASSERT_EQ(Lock(*other_), kOk);
  const int client_ids = server_.calls(ClientOperation());
  server_.Revoke("f", opens, status);
  ReadOther();
  AwaitNothingRevoked();
  EXPECT_TRUE(OpenFiles::HasLostLocks(state_.get()));
  EXPECT_FALSE(OpenFiles::HasLostLocks(other_.get()));
  EXPECT_EQ(Lock(*state_), std::errc::io_error);
  EXPECT_EQ(Unlock(), kOk);
  EXPECT_EQ(Lock(*state_), kOk);
  EXPECT_EQ(Read(state_.get()).data, "hello");
  EXPECT_EQ(opened(), opens ? 1 : 0);
  EXPECT_EQ(server_.opens(), 2u);
  EXPECT_EQ(server_.calls(ClientOperation()), client_ids);
}

TEST_P(Revoked, FileThatIsReadBeforeIsFreedToo) {
  const auto [opens, status] = GetParam();
  ASSERT_EQ(Lock(*state_), kOk);
  server_.Revoke("f", opens, status);
  EXPECT_EQ(Read(state_.get()).data, "hello");
  AwaitNothingRevoked();
  EXPECT_TRUE(OpenFiles::HasLostLocks(state_.get()));
}

TEST_P(Revoked, LockThatIsUsedBeforeIsFreedToo) {
  const auto [opens, status] = GetParam();
  ASSERT_EQ(Lock(*state_), kOk);
  server_.Revoke("f", opens, status);
  EXPECT_EQ(Lock(*state_), std::errc::io_error);
  AwaitNothingRevoked();
  EXPECT_TRUE(OpenFiles::HasLostLocks(state_.get()));
  EXPECT_EQ(Unlock(), kOk);
  EXPECT_FALSE(OpenFiles::HasLostLocks(state_.get()));
}

TEST_P(Revoked, FileThatIsClosedIsFreed) {
  const auto [opens, status] = GetParam();
  ASSERT_EQ(Lock(*state_), kOk);
  server_.Revoke("f", opens, status);
  state_.reset();
  AwaitNothingRevoked();
  EXPECT_EQ(server_.opens(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, Revoked,
                         testing::Combine(testing::Bool(),
                                          testing::Values(NFS4ERR_EXPIRED, NFS4ERR_ADMIN_REVOKED)));

TEST_F(RevocationTest, AFileThatIsGoneIsFreed) {
  server_.Revoke("f", true, NFS4ERR_EXPIRED);
  server_.Erase("f");
  ReadOther();
  AwaitNothingRevoked();
  EXPECT_EQ(Read(state_.get()).error, kStale);
}

TEST_F(RevocationTest, AllOfManyFilesAreOpenedAnew) {
  std::vector<std::unique_ptr<OpenState>> states;
  constexpr size_t kFiles = OpenOwners::kUnsettledMax + kTestedMax + 2;
  for (size_t i = 0; i < kFiles; ++i) states.push_back(OpenFile());
  const size_t opens = server_.opens();
  server_.Revoke("f", true, NFS4ERR_EXPIRED);
  ReadOther();
  AwaitNothingRevoked();
  EXPECT_EQ(server_.opens(), opens);
}

// A server may fail to say what it has revoked, and is asked again.
TEST_F(RevocationTest, AnErrorOfTheTestIsGotOver) {
  constexpr int kBadSession = 10052, kNotSupported = NFS4ERR_NOTSUPP;
  for (const int status :
       {kNotSupported, int{NFS4ERR_DELAY}, int{NFS4ERR_SERVERFAULT}, kBadSession}) {
    SCOPED_TRACE(status);
    server_.Inject(kOpTestStateId, Fails(status));
    server_.Revoke("f", true, NFS4ERR_ADMIN_REVOKED);
    ReadOther();
    AwaitNothingRevoked();
  }
  EXPECT_EQ(Read(state_.get()).data, "hello");
}

// WIRE-42.
TEST_F(RevocationTest, AStateIdThatIsNotFreedAtOnceIsFreedLater) {
  ASSERT_EQ(Lock(*state_), kOk);
  for (const FakeFault& fault : {Fails(NFS4ERR_DELAY), FakeFault{.kind = Kind::kLoseReply}}) {
    server_.Inject(kOpFreeStateId, fault, 2);
    server_.Revoke("f", true, NFS4ERR_EXPIRED);
    ReadOther();
    AwaitNothingRevoked();
    EXPECT_EQ(Unlock(), kOk);
    EXPECT_EQ(Lock(*state_), kOk);
  }
}

// State ids that TEST_STATEID does not report as revoked are kept: their next use will tell.
TEST_F(RevocationTest, OnlyWhatIsRevokedIsOpenedAnew) {
  ASSERT_EQ(Lock(*state_), kOk);
  const FakeFault claims_unknown{.kind = Kind::kForged, .forge = [](const std::string& result) {
                                   Xdr forged;
                                   forged.Raw(result.substr(0, 12));  // operation, status, number
                                   for (size_t at = 12; at < result.size(); at += 4) {
                                     forged.U32(NFS4ERR_BAD_STATEID);
                                   }
                                   return forged.str();
                                 }};
  server_.Inject(kOpTestStateId, claims_unknown, 1000);
  server_.WithSessions([](FakeSessions& sessions) { sessions.status_flags = 0x30; });
  const int tested = server_.calls(kOpTestStateId);
  ReadOther();
  server_.AwaitCalls(kOpTestStateId, tested + 2);
  EXPECT_FALSE(OpenFiles::HasLostLocks(state_.get()));
  EXPECT_EQ(opened(), 0);
  EXPECT_EQ(Read(state_.get()).data, "hello");
}

// A reply that is not of the state ids that were asked for.
TEST_F(RevocationTest, AReplyOfAnotherNumberSaysNothing) {
  const auto with_number = [](uint32_t number) {
    return FakeFault{.kind = Kind::kForged, .forge = [number](const std::string& result) {
                       Xdr forged;
                       forged.Raw(result.substr(0, 8)).U32(number).Raw(result.substr(12));
                       return forged.str();
                     }};
  };
  for (const uint32_t number : {0u, 1u, 3u, UINT32_MAX}) {
    SCOPED_TRACE(number);
    server_.Inject(kOpTestStateId, with_number(number));
    server_.Revoke("f", true, NFS4ERR_EXPIRED);
    ReadOther();
    AwaitNothingRevoked();
  }
  EXPECT_EQ(Read(state_.get()).data, "hello");
}

}  // namespace
}  // namespace nfswalk::protocol
