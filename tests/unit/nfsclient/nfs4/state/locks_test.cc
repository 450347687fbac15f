// Byte-range locks of open files: sequence numbers, lost replies, statuses, recovery.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "nfsclient/nfs4/state/open_files.h"
#include "tests/unit/nfsclient/nfs4/state/open_files_fixture.h"

namespace nfswalk::protocol {
namespace {

constexpr uint64_t kMe = 1, kYou = 2;
constexpr std::errc kDenied = std::errc::resource_unavailable_try_again;
constexpr ByteRange kAll{};

class LocksTest : public OpenFilesTest {
 protected:
  void SetUp() override {
    OpenFilesTest::SetUp();
    state_ = OpenFile();
    ASSERT_NE(state_, nullptr);
  }
  void TearDown() override {
    state_.reset();
    OpenFilesTest::TearDown();
  }

  void ConnectSoft() {
    state_.reset();
    Connect({.hard = false, .timeo_ds = 5, .retrans = 0});
    state_ = OpenFile();
  }
  LockReply TryLock(uint64_t owner, LockType type, ByteRange range) {
    rpc::Caller::Budget budget = caller_->NewBudget();
    return open_files_->Lock(*state_, owner, {type, range}, budget);
  }
  std::errc Lock(uint64_t owner, ByteRange range) {
    return TryLock(owner, LockType::kWrite, range).error;
  }
  std::errc Unlock(uint64_t owner, ByteRange range) {
    rpc::Caller::Budget budget = caller_->NewBudget();
    return open_files_->Unlock(*state_, owner, range, budget);
  }
  LockReply Test(uint64_t owner, ByteRange range) {
    rpc::Caller::Budget budget = caller_->NewBudget();
    return open_files_->TestLock(*state_, owner, {LockType::kWrite, range}, budget);
  }

  std::unique_ptr<OpenState> state_;
};

TEST_F(LocksTest, OwnersOfOneOpenFileExcludeEachOther) {
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
  const LockReply denied = TryLock(kYou, LockType::kRead, {5, 20});
  EXPECT_EQ(denied.error, kDenied);
  EXPECT_EQ(denied.conflict, (RangeLock{LockType::kWrite, {0, 9}}));
  EXPECT_EQ(Test(kYou, {5, 20}).conflict, (RangeLock{LockType::kWrite, {0, 9}}));
  EXPECT_EQ(Test(kMe, {5, 20}).error, kOk);
  EXPECT_EQ(Lock(kYou, {10, ByteRange::kEnd}), kOk);
  EXPECT_EQ(Test(kMe, {0, 20}).conflict, (RangeLock{LockType::kWrite, {10, ByteRange::kEnd}}));
  EXPECT_EQ(Unlock(kMe, {0, 4}), kOk);
  EXPECT_EQ(server_.lock_holders(), 2u);
  EXPECT_EQ(Unlock(kMe, kAll), kOk);
  EXPECT_EQ(server_.lock_holders(), 1u);
}

TEST_F(LocksTest, AnUnlockOfWhatIsNotLockedSendsNothing) {
  EXPECT_EQ(Unlock(kMe, kAll), kOk);
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
  EXPECT_EQ(Unlock(kMe, {10, 20}), kOk);
  EXPECT_EQ(server_.calls(OP_LOCKU), 0);
}

TEST_F(LocksTest, CloseUnlocksAndReleasesEachOwner) {
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
  EXPECT_EQ(Lock(kYou, {10, 19}), kOk);
  EXPECT_EQ(Unlock(kYou, kAll), kOk);
  state_.reset();
  EXPECT_EQ(server_.lock_owners(), 0u);
  EXPECT_EQ(server_.calls(OP_LOCKU), 2);
  EXPECT_EQ(server_.calls(OP_RELEASE_LOCKOWNER), 2);
  EXPECT_EQ(server_.opens(), 0u);
}

TEST_F(LocksTest, AReleasedOwnerIsForgotten) {
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
  rpc::Caller::Budget budget = caller_->NewBudget();
  EXPECT_EQ(open_files_->ReleaseLocks(*state_, kMe, budget), kOk);
  EXPECT_EQ(server_.lock_owners(), 0u);
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
}

TEST_F(LocksTest, OwnersWithoutLocksAreBounded) {
  constexpr uint64_t kOwners = 3 * LockOwners::kIdleMax;
  for (uint64_t owner = 0; owner < kOwners; ++owner) {
    EXPECT_EQ(Lock(owner, {0, 9}), kOk);
    EXPECT_EQ(Unlock(owner, kAll), kOk);
  }
  EXPECT_LE(server_.lock_owners(), LockOwners::kIdleMax);
}

// WIRE-25.
class LostLockCall : public LocksTest,
                     public testing::WithParamInterface<std::tuple<nfs_opnum4, Kind>> {};

TEST_P(LostLockCall, IsRetransmittedAndExecutedOnce) {
  const auto [operation, kind] = GetParam();
  server_.Inject(operation, {kind}, 2);
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
  EXPECT_EQ(Lock(kMe, {20, 29}), kOk);
  EXPECT_EQ(Unlock(kMe, {0, 9}), kOk);
  EXPECT_EQ(Unlock(kMe, kAll), kOk);
  EXPECT_EQ(Lock(kYou, kAll), kOk);
  state_.reset();
  EXPECT_EQ(server_.lock_owners(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, LostLockCall,
                         testing::Combine(testing::Values(OP_LOCK, OP_LOCKU),
                                          testing::Values(Kind::kLoseCall, Kind::kLoseReply)));

// The caller was told that it failed.
class UnansweredLock : public LocksTest, public testing::WithParamInterface<bool> {};

TEST_P(UnansweredLock, IsUndoneBeforeTheNextCall) {
  ConnectSoft();
  const bool first = GetParam();
  if (!first) {
    EXPECT_EQ(Lock(kMe, {20, 29}), kOk);
  }
  server_.Inject(OP_LOCK, {Kind::kSilence});
  EXPECT_EQ(Lock(kMe, {0, 9}), std::errc::timed_out);
  EXPECT_EQ(server_.lock_holders(), 1u);
  // By another owner's first LOCK, where that needs the open-owner's sequence; else by its own.
  if (!first) {
    EXPECT_EQ(Unlock(kMe, {30, 39}), kOk);
  }
  EXPECT_EQ(Lock(kYou, {0, 9}), kOk);
  EXPECT_EQ(Lock(kMe, {0, 9}), kDenied);
  EXPECT_EQ(Lock(kMe, {20, 29}), kOk);
}

INSTANTIATE_TEST_SUITE_P(All, UnansweredLock, testing::Bool());

TEST_F(LocksTest, AnUnansweredLockIsUndoneByClose) {
  ConnectSoft();
  server_.Inject(OP_LOCK, {Kind::kSilence});
  EXPECT_EQ(Lock(kMe, {0, 9}), std::errc::timed_out);
  state_.reset();
  EXPECT_EQ(server_.lock_owners(), 0u);
  EXPECT_EQ(server_.opens(), 0u);
}

TEST_F(LocksTest, AnUnansweredLockIsUndoneInTheBackground) {
  ConnectSoft();
  server_.Inject(OP_LOCK, {Kind::kSilence});
  EXPECT_EQ(Lock(kMe, {0, 9}), std::errc::timed_out);
  server_.AwaitCalls(OP_LOCKU, 1);
  EXPECT_EQ(server_.lock_holders(), 0u);
  EXPECT_EQ(Lock(kYou, {0, 9}), kOk);
}

TEST_F(LocksTest, AnUnansweredUnlockIsSentAgainInTheBackground) {
  ConnectSoft();
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
  server_.Inject(OP_LOCKU, {Kind::kSilence});
  EXPECT_EQ(Unlock(kMe, kAll), std::errc::timed_out);
  server_.AwaitCalls(OP_LOCKU, 2);
  EXPECT_EQ(Lock(kYou, {0, 9}), kOk);
}

// WIRE-34: renewals that got no reply for the time of the lease.
class OverdueLease : public LocksTest, public testing::WithParamInterface<bool> {};

TEST_P(OverdueLease, IsConfirmedBeforeAWriteUnderALock) {
  const bool expires = GetParam();
  state_.reset();
  server_.set_lease_seconds(1);
  Connect({});
  state_ = OpenFile();
  ASSERT_EQ(Lock(kMe, {0, 9}), kOk);
  const int renewals = server_.calls(OP_RENEW);
  server_.Inject(OP_RENEW, {Kind::kSilence}, kForEver);
  // The first after a third of a second, the others after a sixth each.
  server_.AwaitCalls(OP_RENEW, renewals + 6);
  if (expires) server_.ExpireLeases();
  server_.ClearFaults();
  rpc::Caller::Budget budget = caller_->NewBudget();
  EXPECT_EQ(open_files_->ConfirmLocks(*state_, budget), expires ? std::errc::io_error : kOk);
  EXPECT_EQ(Read(state_.get()).data, "hello");
  EXPECT_EQ(OpenFiles::HasLostLocks(state_.get()), expires);
}

INSTANTIATE_TEST_SUITE_P(All, OverdueLease, testing::Bool());

// The server has dropped that lock-owner's state alone.
TEST_F(LocksTest, AnExpiredLockOwnerLosesItsOwnLocks) {
  ASSERT_EQ(Lock(kMe, {0, 9}), kOk);
  ASSERT_EQ(Lock(kYou, {10, 19}), kOk);
  server_.Inject(OP_LOCK, Fails(NFS4ERR_EXPIRED));
  EXPECT_EQ(Lock(kMe, {20, 29}), std::errc::io_error);
  EXPECT_EQ(server_.opens(), 1u);
  EXPECT_EQ(Unlock(kMe, kAll), kOk);
  EXPECT_FALSE(OpenFiles::HasLostLocks(state_.get()));
  state_.reset();
  EXPECT_EQ(server_.opens(), 0u);
  EXPECT_EQ(server_.lock_holders(), 0u);
}

// The server has dropped that open file's state alone.
TEST_F(LocksTest, OneExpiredStateIdLosesTheLocksOfItsFileAlone) {
  server_.Put("g", {.mode = 0666, .data = "other"});
  const FileHandle file = file_;
  const std::unique_ptr<OpenState> other = OpenFile("g");
  ASSERT_EQ(Lock(kMe, {0, 9}), kOk);
  const int client_ids = server_.calls(ClientOperation());
  server_.Inject(OP_READ, Fails(NFS4ERR_EXPIRED));
  EXPECT_EQ(Read(other.get()).data, "other");
  EXPECT_EQ(Read(state_.get(), file).data, "hello");
  EXPECT_FALSE(OpenFiles::HasLostLocks(state_.get()));
  EXPECT_EQ(server_.calls(ClientOperation()), client_ids);
}

struct StatusRow {
  int status;
  std::errc error;
};

TEST_F(LocksTest, EachStatusOfLockIsAnErrno) {
  const StatusRow rows[] = {{NFS4ERR_DENIED, kDenied},
                            {NFS4ERR_DEADLOCK, std::errc::resource_deadlock_would_occur},
                            {NFS4ERR_ACCESS, std::errc::permission_denied},
                            {NFS4ERR_INVAL, std::errc::invalid_argument},
                            {NFS4ERR_BAD_RANGE, std::errc::invalid_argument},
                            {NFS4ERR_LOCK_RANGE, std::errc::operation_not_supported},
                            {NFS4ERR_LOCK_NOTSUPP, std::errc::operation_not_supported},
                            {NFS4ERR_OPENMODE, std::errc::bad_file_descriptor},
                            {NFS4ERR_ISDIR, std::errc::is_a_directory},
                            {NFS4ERR_STALE, kStale},
                            {NFS4ERR_ADMIN_REVOKED, kOk},
                            {NFS4ERR_DELAY, kOk},
                            {NFS4ERR_GRACE, kOk},
                            {NFS4ERR_BAD_SEQID, kOk},
                            {NFS4ERR_BAD_STATEID, kOk},
                            {NFS4ERR_OLD_STATEID, kOk},
                            {NFS4ERR_EXPIRED, kOk},
                            {NFS4ERR_STALE_STATEID, kOk},
                            {NFS4ERR_STALE_CLIENTID, kOk}};
  for (const StatusRow& row : rows) {
    server_.Inject(OP_LOCK, Fails(row.status));
    EXPECT_EQ(Lock(kMe, {0, 9}), row.error) << row.status;
    EXPECT_EQ(Unlock(kMe, kAll), kOk) << row.status;
    EXPECT_EQ(server_.lock_holders(), 0u) << row.status;
    EXPECT_FALSE(OpenFiles::HasLostLocks(state_.get())) << row.status;
  }
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
}

TEST_F(LocksTest, EachStatusOfTestLockIsAnErrno) {
  const StatusRow rows[] = {{NFS4ERR_DENIED, kDenied}, {NFS4ERR_INVAL, std::errc::invalid_argument},
                            {NFS4ERR_STALE, kStale},   {NFS4ERR_DELAY, kOk},
                            {NFS4ERR_GRACE, kOk},      {NFS4ERR_STALE_CLIENTID, kOk}};
  for (const StatusRow& row : rows) {
    server_.Inject(OP_LOCKT, Fails(row.status));
    EXPECT_EQ(Test(kMe, {0, 9}).error, row.error) << row.status;
  }
}

TEST_F(LocksTest, EachStatusOfUnlockIsAnErrnoOrSaysThatNothingIsLocked) {
  const StatusRow rows[] = {{NFS4ERR_INVAL, std::errc::invalid_argument},
                            {NFS4ERR_STALE, kStale},
                            {NFS4ERR_DELAY, kOk},
                            {NFS4ERR_BAD_STATEID, kOk},
                            {NFS4ERR_OLD_STATEID, kOk},
                            {NFS4ERR_ADMIN_REVOKED, kOk},
                            {NFS4ERR_EXPIRED, kOk}};
  for (const StatusRow& row : rows) {
    ASSERT_EQ(Lock(kMe, {0, 9}), kOk) << row.status;
    server_.Inject(OP_LOCKU, Fails(row.status));
    EXPECT_EQ(Unlock(kMe, kAll), row.error) << row.status;
    EXPECT_EQ(Unlock(kMe, kAll), kOk) << row.status;
    EXPECT_FALSE(OpenFiles::HasLostLocks(state_.get())) << row.status;
    state_ = OpenFile();  // what the server was made to keep goes with the open file
  }
}

// WIRE-26.
TEST_F(LocksTest, LocksAreReclaimedInTheGracePeriod) {
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
  EXPECT_EQ(TryLock(kMe, LockType::kRead, {20, 29}).error, kOk);
  EXPECT_EQ(Lock(kYou, {40, 49}), kOk);
  server_.Restart(true);
  EXPECT_EQ(Read(state_.get()).data, "hello");
  EXPECT_EQ(server_.lock_holders(), 2u);
  EXPECT_EQ(server_.calls(OP_LOCK), 6);
  server_.EndGrace();
  EXPECT_EQ(Test(kYou, kAll).conflict, (RangeLock{LockType::kWrite, {0, 9}}));
  EXPECT_EQ(Unlock(kMe, {0, 9}), kOk);
  EXPECT_EQ(Test(kYou, kAll).conflict, (RangeLock{LockType::kRead, {20, 29}}));
}

TEST_F(LocksTest, ALockOrUnlockRecoversFirst) {
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
  server_.Restart(true);
  EXPECT_EQ(Unlock(kMe, {0, 4}), kOk);
  server_.Restart(true);
  std::thread grace([&] {
    server_.AwaitCalls(OP_LOCK, 5);  // two reclaims, one that is refused
    server_.EndGrace();
  });
  EXPECT_EQ(Lock(kYou, {0, 4}), kOk);
  grace.join();
  EXPECT_EQ(Lock(kYou, {9, 9}), kDenied);
}

class LostLocks : public LocksTest, public testing::WithParamInterface<bool> {
 protected:
  void Lose() {
    if (GetParam()) {
      server_.Restart(false);
    } else {
      server_.ExpireLeases();
    }
  }
};

TEST_P(LostLocks, AreAnErrorUntilAllIsUnlocked) {
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
  EXPECT_EQ(Lock(kMe, {20, 29}), kOk);
  Lose();
  EXPECT_EQ(Read(state_.get()).data, "hello");  // reopens; Nfs4 refuses it from then on
  EXPECT_TRUE(OpenFiles::HasLostLocks(state_.get()));
  EXPECT_EQ(Lock(kMe, {40, 49}), std::errc::io_error);
  EXPECT_EQ(Test(kMe, {40, 49}).error, std::errc::io_error);
  EXPECT_EQ(server_.lock_holders(), 0u);
  EXPECT_EQ(Lock(kYou, {0, 9}), kOk);
  EXPECT_EQ(Unlock(kMe, {0, 9}), kOk);
  EXPECT_TRUE(OpenFiles::HasLostLocks(state_.get()));
  EXPECT_EQ(Unlock(kMe, kAll), kOk);
  EXPECT_FALSE(OpenFiles::HasLostLocks(state_.get()));
  EXPECT_EQ(server_.calls(OP_LOCKU), 0);
  EXPECT_EQ(Lock(kMe, {20, 29}), kOk);
}

INSTANTIATE_TEST_SUITE_P(All, LostLocks, testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "ByARestart" : "WithTheLease");
});

TEST_F(LocksTest, UnreclaimedLocksAreLost) {
  EXPECT_EQ(Lock(kMe, {0, 9}), kOk);
  EXPECT_EQ(Lock(kYou, {20, 29}), kOk);
  server_.Restart(true);
  server_.Inject(OP_LOCK, Fails(NFS4ERR_RECLAIM_CONFLICT));
  EXPECT_EQ(Read(state_.get()).data, "hello");
  EXPECT_TRUE(OpenFiles::HasLostLocks(state_.get()));
  EXPECT_EQ(server_.lock_holders(), 1u);
  EXPECT_EQ(Unlock(kMe, kAll), kOk);
  EXPECT_FALSE(OpenFiles::HasLostLocks(state_.get()));
  EXPECT_EQ(Unlock(kYou, kAll), kOk);
  EXPECT_EQ(server_.lock_holders(), 0u);
}

}  // namespace
}  // namespace nfswalk::protocol
