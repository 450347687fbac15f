// Calls that were given up, and what settles them in the background (WIRE-35).
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "nfsclient/nfs4/state/open_files.h"
#include "nfsclient/protocol/call_deadline.h"
#include "tests/unit/nfsclient/nfs4/state/open_files_fixture.h"

namespace nfswalk::protocol {
namespace {

constexpr uint64_t kMe = 1, kYou = 2;

class GivenUpTest : public OpenFilesTest {
 protected:
  void SetUp() override {
    OpenFilesTest::SetUp();
    Connect({.hard = false, .timeo_ds = 5, .retrans = 0});
    kept_ = OpenFile();
  }
  void TearDown() override {
    kept_.reset();
    OpenFilesTest::TearDown();
  }

  void AwaitOpens(size_t opens) {
    while (server_.opens() != opens) std::this_thread::yield();
  }
  void AwaitHolders(size_t holders) {
    while (server_.lock_holders() != holders) std::this_thread::yield();
  }
  std::errc Lock(const OpenState& state, uint64_t owner, LockType type, ByteRange range) {
    rpc::Caller::Budget budget = caller_->NewBudget();
    return open_files_->Lock(state, owner, {type, range}, budget).error;
  }
  std::errc Lock(uint64_t owner, ByteRange range) {
    return Lock(*kept_, owner, LockType::kWrite, range);
  }
  // The next call of `operation` is the first that the faults do not concern.
  void EndFaultsAtNext(int operation) {
    std::binary_semaphore begins{0};
    server_.Before(operation, [&] {
      server_.ClearFaults();
      begins.release();
    });
    begins.acquire();
  }

  std::unique_ptr<OpenState> kept_;
};

struct GivenUp {
  std::string name;
  int operation;
  Kind kind;
  int times = 1;
};
class GivenUpCall : public GivenUpTest, public testing::WithParamInterface<GivenUp> {
 protected:
  void Inject() { server_.Inject(GetParam().operation, {GetParam().kind}, GetParam().times); }
};

TEST_P(GivenUpCall, LeavesNothingOpen) {
  server_.Put("g", {.mode = 0666, .data = "other"});
  const bool is_close = GetParam().operation == OP_CLOSE;
  if (!is_close) Inject();
  OpenFiles::Opened opened = Open(OpenRequest("g"));
  EXPECT_EQ(opened.error, is_close ? kOk : std::errc::timed_out);
  if (is_close) Inject();
  opened.state.reset();
  server_.ClearFaults();
  AwaitOpens(1);
  // A connection that was lost many times is made again after a pause, which may be longer than a
  // call waits.
  constexpr int kReadsMax = 20;
  DataReply read = Read(kept_.get());
  for (int i = 1; i < kReadsMax && read.error == std::errc::timed_out; ++i) {
    read = Read(kept_.get());
  }
  EXPECT_EQ(read.data, "hello");
}

INSTANTIATE_TEST_SUITE_P(
    All, GivenUpCall,
    testing::Values(GivenUp{"OpenWithoutReply", OP_OPEN, Kind::kSilence},
                    GivenUp{"OpenThatDidNotArrive", OP_OPEN, Kind::kLoseCall, kForEver},
                    GivenUp{"ConfirmWithoutReply", OP_OPEN_CONFIRM, Kind::kSilence},
                    GivenUp{"ConfirmThatDidNotArrive", OP_OPEN_CONFIRM, Kind::kLoseCall, kForEver},
                    GivenUp{"CloseWithoutReply", OP_CLOSE, Kind::kSilence},
                    GivenUp{"CloseThatDidNotArrive", OP_CLOSE, Kind::kLoseCall, kForEver}),
    [](const auto& test) { return test.param.name; });

// Its caller was told that it failed.
TEST_F(GivenUpTest, ACreationIsNotMadeLater) {
  const auto give_up = [&](const OpenFiles::Request& request) {
    server_.Inject(OP_OPEN, {Kind::kLoseCall}, kForEver);
    EXPECT_EQ(Open(request).error, std::errc::timed_out);
    EndFaultsAtNext(OP_OPEN);
  };
  for (const How how : {How::kUnchecked, How::kGuarded, How::kExclusive}) {
    give_up(CreateRequest("new", how));
    EXPECT_FALSE(server_.Find("new"));
  }
  OpenFiles::Request truncating = CreateRequest("f", How::kUnchecked);
  truncating.attributes.size_bytes = 0;
  give_up(truncating);
  EXPECT_EQ(server_.Find("f")->data, "hello");
}

// The owner's number is used up by the OPEN without a reply.
TEST_F(GivenUpTest, AnOwnerWhoseOpenIsNotSettledOpensNothingElse) {
  server_.Put("g", {.mode = 0666, .data = "other"});
  Open(OpenRequest("g")).state.reset();
  server_.Inject(OP_OPEN, {Kind::kSilence});
  EXPECT_EQ(Open(OpenRequest("g")).error, std::errc::timed_out);
  server_.Inject(OP_PUTFH, Fails(NFS4ERR_DELAY));
  AwaitOpens(1);
  const OpenFiles::Opened created = Open(CreateRequest("new", How::kUnchecked));
  ASSERT_EQ(created.error, kOk);
  ASSERT_TRUE(server_.Find("new"));
  EXPECT_EQ(created.handle, HandleOf(server_.Find("new")->handle()));
}

TEST_F(GivenUpTest, AnOpenThatWasNotSentIsNotSettled) {
  kept_.reset();
  server_.set_lease_seconds(1);
  Connect({});
  kept_ = OpenFile();
  const int opens = server_.calls(OP_OPEN);
  {
    const Deadline now(std::chrono::steady_clock::now());
    EXPECT_EQ(Open(OpenRequest()).error, std::errc::timed_out);
  }
  server_.AwaitCalls(OP_RENEW, server_.calls(OP_RENEW) + 2);
  EXPECT_EQ(server_.calls(OP_OPEN), opens);
}

// Its lock-owner has used the open-owner's sequence number, and got no reply.
TEST_F(GivenUpTest, ACloseBehindALockLeavesNeither) {
  std::unique_ptr<OpenState> state = OpenFile();
  server_.Inject(OP_LOCK, {Kind::kSilence}, kForEver);
  EXPECT_EQ(Lock(*state, kMe, LockType::kWrite, {0, 9}), std::errc::timed_out);
  server_.Inject(OP_CLOSE, {Kind::kLoseCall}, kForEver);
  state.reset();
  server_.ClearFaults();
  AwaitOpens(1);
  EXPECT_EQ(server_.lock_holders(), 0u);
}

TEST_F(GivenUpTest, ACloseThatMayNotWaitForTheBackgroundIsMadeThere) {
  std::unique_ptr<OpenState> state = OpenFile();
  server_.Inject(OP_LOCK, {Kind::kSilence}, kForEver);
  EXPECT_EQ(Lock(*state, kMe, LockType::kWrite, {0, 9}), std::errc::timed_out);
  server_.AwaitCalls(OP_LOCK, server_.calls(OP_LOCK) + 1);
  {
    const Deadline now(std::chrono::steady_clock::now());
    state.reset();
  }
  server_.ClearFaults();
  AwaitOpens(1);
  EXPECT_EQ(server_.lock_holders(), 0u);
}

TEST_F(GivenUpTest, ACloseThatIsAnsweredWithExpiredCostsNoOtherFile) {
  server_.Put("g", {.mode = 0666, .data = "other"});
  ASSERT_EQ(Lock(kMe, {0, 9}), kOk);
  std::unique_ptr<OpenState> other = OpenFile("g");
  const int client_ids = server_.calls(ClientOperation());
  server_.Inject(OP_CLOSE, {Kind::kLoseCall}, kForEver);
  other.reset();
  server_.Before(OP_CLOSE, [&] {
    server_.ClearFaults();
    server_.Inject(OP_CLOSE, Fails(NFS4ERR_EXPIRED));
  });
  server_.AwaitCalls(OP_CLOSE, server_.calls(OP_CLOSE) + 1);
  EXPECT_EQ(Lock(kYou, {0, 9}), std::errc::resource_unavailable_try_again);
  EXPECT_FALSE(OpenFiles::HasLostLocks(kept_.get()));
  EXPECT_EQ(server_.calls(ClientOperation()), client_ids);
}

// The caller was told that it has the stronger lock still.
TEST_F(GivenUpTest, AWeakerLockWeakensNoneLater) {
  ASSERT_EQ(Lock(kMe, {0, 9}), kOk);
  server_.Inject(OP_LOCK, {Kind::kLoseCall}, kForEver);
  EXPECT_EQ(Lock(*kept_, kMe, LockType::kRead, {0, 9}), std::errc::timed_out);
  EndFaultsAtNext(OP_LOCK);
  EXPECT_EQ(Lock(*kept_, kYou, LockType::kRead, {0, 9}), std::errc::resource_unavailable_try_again);
}

// WIRE-35; in sessions WIRE-40.
TEST_F(GivenUpTest, AWeakerLockThatWasTakenIsMadeStrongerAgain) {
  ASSERT_EQ(Lock(kMe, {0, 9}), kOk);
  server_.Inject(OP_LOCK, {Kind::kSilence});
  EXPECT_EQ(Lock(*kept_, kMe, LockType::kRead, {0, 9}), std::errc::timed_out);
  while (Lock(*kept_, kYou, LockType::kRead, {0, 9}) == kOk) {
    rpc::Caller::Budget budget = caller_->NewBudget();
    EXPECT_EQ(open_files_->Unlock(*kept_, kYou, {}, budget), kOk);
    if (OpenFiles::HasLostLocks(kept_.get())) return;  // it was too late, and is told so
  }
}

TEST_F(GivenUpTest, ALockThatExtendsAnotherIsUndone) {
  ASSERT_EQ(Lock(kMe, {0, 4}), kOk);
  server_.Inject(OP_LOCK, {Kind::kSilence});
  EXPECT_EQ(Lock(kMe, {0, 9}), std::errc::timed_out);
  while (Lock(kYou, {5, 9}) != kOk) std::this_thread::yield();
  EXPECT_EQ(Lock(kYou, {0, 4}), std::errc::resource_unavailable_try_again);
}

// Locks that were held before can be reclaimed.
TEST_F(GivenUpTest, ALockThatIsUndoneWhileTheServerRestartsLosesNone) {
  kept_.reset();
  server_.set_lease_seconds(1);
  Connect({.hard = false, .timeo_ds = 5, .retrans = 0});
  kept_ = OpenFile();
  ASSERT_EQ(Lock(kMe, {0, 4}), kOk);
  server_.Before(OP_LOCKU, [&] { server_.Restart(true); });
  server_.Inject(OP_LOCK, {Kind::kSilence});
  EXPECT_EQ(Lock(kMe, {0, 9}), std::errc::timed_out);
  server_.AwaitCalls(OP_LOCKU, 1);
  AwaitHolders(1);
  server_.EndGrace();
  EXPECT_EQ(Lock(kYou, {0, 4}), std::errc::resource_unavailable_try_again);
  EXPECT_EQ(Lock(kYou, {5, 9}), kOk);
  EXPECT_FALSE(OpenFiles::HasLostLocks(kept_.get()));
}

TEST_F(GivenUpTest, AnUnlockThatIsDelayedIsMadeAgain) {
  server_.Inject(OP_LOCK, {Kind::kSilence});
  EXPECT_EQ(Lock(kMe, {0, 9}), std::errc::timed_out);
  server_.Inject(OP_LOCKU, Fails(NFS4ERR_DELAY));
  AwaitHolders(0);
  ASSERT_EQ(Lock(kMe, {0, 9}), kOk);
  server_.Inject(OP_LOCKU, {Kind::kLoseCall}, kForEver);
  rpc::Caller::Budget budget = caller_->NewBudget();
  EXPECT_EQ(open_files_->Unlock(*kept_, kMe, {}, budget), std::errc::timed_out);
  server_.Before(OP_LOCKU, [&] {
    server_.ClearFaults();
    server_.Inject(OP_LOCKU, Fails(NFS4ERR_DELAY));
  });
  AwaitHolders(0);
}

}  // namespace
}  // namespace nfswalk::protocol
