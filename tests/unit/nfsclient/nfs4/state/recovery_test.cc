// Recovery of open files after a restart of the server or the end of the lease.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <latch>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/nfs4/state/open_files.h"
#include "tests/unit/nfsclient/nfs4/state/open_files_fixture.h"

namespace nfswalk::protocol {
namespace {

using OpenFilesRecoveryTest = OpenFilesTest;

TEST_F(OpenFilesRecoveryTest, AfterARestartTheFileIsOpenedByName) {
  std::unique_ptr<OpenState> state = OpenFile();
  const StateId before = OpenFiles::StateOf(state.get());
  server_.Restart(false);
  EXPECT_EQ(Read(state.get()).data, "hello");
  EXPECT_NE(OpenFiles::StateOf(state.get()), before);
  EXPECT_EQ(server_.calls(ClientOperation()), 2);
  EXPECT_EQ(server_.opens(), 1u);
  state.reset();
  EXPECT_EQ(server_.opens(), 0u);
}

// WIRE-17.
TEST_F(OpenFilesRecoveryTest, WhileTheServerIsInItsGracePeriodTheFileIsReclaimed) {
  std::unique_ptr<OpenState> state = OpenFile();
  server_.Restart(true);
  EXPECT_EQ(Read(state.get()).data, "hello");
  EXPECT_EQ(server_.calls(OP_OPEN), 2);
  EXPECT_EQ(server_.calls(OP_OPEN_CONFIRM), 1);
  state.reset();
  EXPECT_EQ(server_.opens(), 0u);
}

TEST_F(OpenFilesRecoveryTest, ARenamedFileIsReclaimedByItsHandle) {
  server_.Put("old", {.mode = 0666, .nlink = 2, .data = "moved"});
  const std::unique_ptr<OpenState> state = OpenFile("old");
  server_.Erase("old");
  server_.Restart(true);
  EXPECT_EQ(Read(state.get()).data, "moved");
}

// CLAIM_PREVIOUS of all files precedes CLAIM_NULL of the first, which ends after the grace period.
TEST_F(OpenFilesRecoveryTest, AllFilesAreReclaimedEvenIfOneCannotBe) {
  constexpr int kFiles = 5;
  std::vector<std::unique_ptr<OpenState>> states;
  for (int i = 0; i < kFiles; ++i) states.push_back(OpenFile());
  server_.Restart(true);
  server_.Inject(OP_OPEN, Fails(NFS4ERR_RECLAIM_BAD));
  std::thread grace([&] {
    server_.AwaitCalls(OP_OPEN, 2 * kFiles + 1);
    server_.EndGrace();
  });
  for (const auto& state : states) EXPECT_EQ(Read(state.get()).data, "hello");
  grace.join();
  EXPECT_EQ(server_.opens(), size_t{kFiles});
}

TEST_F(OpenFilesRecoveryTest, AClientThatMayNotReclaimWaitsForTheEndOfTheGracePeriod) {
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.Restart(true);
  server_.Restart(true);  // the server no longer knows the files of before
  std::thread grace([&] {
    server_.AwaitCalls(OP_OPEN, 4);  // the first, CLAIM_PREVIOUS, CLAIM_NULL twice
    server_.EndGrace();
  });
  EXPECT_EQ(Read(state.get()).data, "hello");
  grace.join();
}

TEST_F(OpenFilesRecoveryTest, AfterTheLeaseExpiredTheFileIsOpenedByNameAtOnce) {
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.ExpireLeases();
  EXPECT_EQ(Read(state.get()).data, "hello");
  EXPECT_EQ(server_.calls(ClientOperation()), 2);
  EXPECT_EQ(server_.calls(OP_OPEN), 2);
}

TEST_F(OpenFilesRecoveryTest, AnOpenAfterTheLeaseExpiredEstablishesAnotherClientId) {
  OpenFile();
  server_.ExpireLeases();
  EXPECT_EQ(Read(OpenFile().get()).data, "hello");
  EXPECT_EQ(server_.calls(ClientOperation()), 2);
}

TEST_F(OpenFilesRecoveryTest, ADroppedStateIdReopensItsFileAlone) {
  const std::unique_ptr<OpenState> dropped = OpenFile();
  server_.Put("g", {.mode = 0666, .data = "other"});
  const std::unique_ptr<OpenState> kept = OpenFile("g");
  const FileHandle other = file_;
  const StateId before = OpenFiles::StateOf(kept.get());
  server_.ForgetOpens("f");
  EXPECT_EQ(Read(dropped.get(), HandleOf(server_.Find("f")->handle())).data, "hello");
  EXPECT_EQ(Read(kept.get(), other).data, "other");
  EXPECT_EQ(OpenFiles::StateOf(kept.get()), before);
  EXPECT_EQ(server_.calls(ClientOperation()), 1);
}

TEST_F(OpenFilesRecoveryTest, AServerThatRefusesItsOwnStateIdsIsRetriedWithPauses) {
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.Inject(OP_READ, Fails(NFS4ERR_BAD_STATEID), 3);
  EXPECT_EQ(Read(state.get()).data, "hello");
  EXPECT_EQ(caller_->retries(), 2u);
}

TEST_F(OpenFilesRecoveryTest, ASoftMountTimesOutOnAServerThatRefusesItsOwnStateIds) {
  Connect({.hard = false, .timeo_ds = 5, .retrans = 0});
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.Inject(OP_READ, Fails(NFS4ERR_EXPIRED), 1'000'000);
  EXPECT_EQ(Read(state.get()).error, std::errc::timed_out);
}

TEST_F(OpenFilesRecoveryTest, AFileWithoutItsNameIsLostForGood) {
  server_.Put("old", {.mode = 0666, .nlink = 2});
  std::unique_ptr<OpenState> state = OpenFile("old");
  server_.Erase("old");
  server_.Restart(false);
  EXPECT_EQ(Read(state.get()).error, std::errc::io_error);
  server_.Put("old", {.mode = 0666});
  EXPECT_EQ(Read(state.get()).error, std::errc::io_error);
  state.reset();
  EXPECT_EQ(server_.calls(OP_CLOSE), 0);
}

TEST_F(OpenFilesRecoveryTest, AFileWhoseNameLeadsToAnotherIsLostAndTheOtherIsClosed) {
  server_.Put("old", {.mode = 0666, .nlink = 2});
  const std::unique_ptr<OpenState> state = OpenFile("old");
  server_.Erase("old");
  server_.Put("old", {.mode = 0666});
  server_.ExpireLeases();
  EXPECT_EQ(Read(state.get()).error, std::errc::io_error);
  EXPECT_EQ(server_.opens(), 0u);
}

TEST_F(OpenFilesRecoveryTest, AFileThatIsGoneIsStaleAsInVersion3) {
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.Erase("f");
  server_.Restart(true);
  EXPECT_EQ(Read(state.get()).error, kStale);
}

TEST_F(OpenFilesRecoveryTest, ARevokedOpenIsReopenedAlone) {
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.ForgetOpens("f");
  server_.Inject(OP_READ, Fails(NFS4ERR_ADMIN_REVOKED));
  EXPECT_EQ(Read(state.get()).data, "hello");
  EXPECT_EQ(server_.calls(OP_OPEN), 2);
  EXPECT_EQ(server_.calls(ClientOperation()), 1);
}

// One of the two is delayed until the end; which one is up to the table of open files.
TEST_F(OpenFilesRecoveryTest, ADelayedFileDoesNotHoldUpTheOthers) {
  server_.Put("g", {.mode = 0666, .data = "hello"});
  const std::unique_ptr<OpenState> states[] = {OpenFile("g"), OpenFile("f")};
  const FileHandle files[] = {HandleOf(server_.Find("g")->handle()), file_};
  server_.Restart(true);
  const int opens = server_.calls(OP_OPEN);
  server_.Inject(OP_OPEN, Fails(NFS4ERR_DELAY));
  server_.Inject(OP_OPEN, Fails(NFS4ERR_DELAY), kForEver, 1);
  std::counting_semaphore<> done{0};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&, i] {
      EXPECT_EQ(Read(states[i].get(), files[i]).data, "hello");
      done.release();
    });
  }
  done.acquire();
  EXPECT_EQ(server_.opens(), 1u);
  server_.ClearFaults();
  done.acquire();
  EXPECT_EQ(server_.opens(), 2u);
  EXPECT_GE(server_.calls(OP_OPEN), opens + 3);
}

TEST_F(OpenFilesRecoveryTest, ADelayedFileThatIsNotUsedIsReclaimedInTheBackground) {
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.Restart(true);
  const int opens = server_.calls(OP_OPEN);
  server_.Inject(OP_OPEN, Fails(NFS4ERR_DELAY), 2);
  // Another file finds out: it is opened once the grace period has ended.
  std::jthread other([&] { OpenFile(); });
  server_.AwaitCalls(OP_OPEN, opens + 3);
  while (server_.opens() == 0) std::this_thread::yield();
  server_.EndGrace();
}

TEST_F(OpenFilesRecoveryTest, WithoutAStateThereIsNothingToRecover) {
  rpc::Caller::Budget budget = caller_->NewBudget();
  EXPECT_EQ(OpenFiles::StateOf(nullptr), StateId{});
  EXPECT_EQ(open_files_->Recover(nullptr, {}, NFS4ERR_BAD_STATEID, budget), std::errc::io_error);
  EXPECT_EQ(open_files_->Recover(nullptr, {}, NFS4ERR_ACCESS, budget),
            std::errc::permission_denied);
  EXPECT_EQ(open_files_->Recover(nullptr, {}, NFS4ERR_DELAY, budget), kOk);
}

TEST_F(OpenFilesRecoveryTest, ReopeningSurvivesDelaysLostRepliesAndAnotherRestart) {
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.Restart(false);
  server_.Inject(OP_SETCLIENTID, {Kind::kLoseReply});
  server_.Inject(OP_SETCLIENTID_CONFIRM, {Kind::kLoseReply});
  server_.Inject(OP_OPEN, Fails(NFS4ERR_DELAY));
  server_.Before(OP_OPEN_CONFIRM, [&] { server_.Restart(false); });
  EXPECT_EQ(Read(state.get()).data, "hello");
  EXPECT_EQ(server_.opens(), 1u);
}

TEST_F(OpenFilesRecoveryTest, AFileThatASoftMountDidNotReopenInTimeIsReopenedLater) {
  Connect({.hard = false, .timeo_ds = 10, .retrans = 0});
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.Restart(false);
  server_.Inject(OP_OPEN, {Kind::kSilence});
  EXPECT_EQ(Read(state.get()).error, std::errc::timed_out);
  EXPECT_EQ(Read(state.get()).data, "hello");
  EXPECT_EQ(server_.calls(ClientOperation()), 2);
}

TEST_F(OpenFilesRecoveryTest, ConcurrentRecoveriesEstablishOneClientId) {
  constexpr int kThreads = 8;
  constexpr int kRestarts = 5;
  std::vector<std::unique_ptr<OpenState>> states;
  for (int i = 0; i < kThreads; ++i) states.push_back(OpenFile());
  std::barrier together(kThreads, [&]() noexcept { server_.Restart(true); });
  std::atomic<int> read{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, state = states[i].get()] {
      for (int n = 0; n < kRestarts; ++n) {
        together.arrive_and_wait();
        read += Read(state).data == "hello";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read.load(), kThreads * kRestarts);
  EXPECT_EQ(server_.calls(ClientOperation()), 1 + kRestarts);
  EXPECT_EQ(server_.calls(OP_OPEN), kThreads * (1 + kRestarts));
}

TEST_F(OpenFilesRecoveryTest, ThreadsThatOpenAndCloseWhileTheServerRestartsLeaveNothingOpen) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 50;
  std::atomic<int> running{kThreads};
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < kRounds; ++n) {
        OpenFiles::Opened opened =
            Open({.at = root_, .name = "f", .read = true}, Credential(1000 + i % 3u, 100));
        good += opened.error == kOk && Read(opened.state.get(), opened.handle).data == "hello";
      }
      --running;
    });
  }
  int restarts = 0;
  for (int calls = 20; running.load() > 0; calls += 20, ++restarts) {
    while (running.load() > 0 && server_.calls(OP_READ) < calls) std::this_thread::yield();
    server_.Restart(false);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(restarts, 5);
  EXPECT_EQ(good.load(), kThreads * kRounds);
  EXPECT_EQ(server_.opens(), 0u);
}

// Holds the next `operation` up until Release().
class HeldOperation {
 public:
  HeldOperation(FakeNfs4& server, int operation) {
    server.Before(operation, [this] {
      reached_.count_down();
      released_.wait();
    });
  }
  void AwaitReached() { reached_.wait(); }
  void Release() { released_.count_down(); }

 private:
  std::latch reached_{1};
  std::latch released_{1};
};

// WIRE-1.
TEST_F(OpenFilesRecoveryTest, AWaitForTheClientIdOfAnotherThreadEndsAtTheDeadline) {
  HeldOperation held(server_, OP_SETCLIENTID);
  const OpenFiles::Request request = OpenRequest();
  std::thread other([&] { EXPECT_EQ(Open(request).error, kOk); });
  held.AwaitReached();
  {
    const CallDeadline passed(CallDeadline::Clock::now());
    EXPECT_EQ(Open(request).error, std::errc::timed_out);
  }
  held.Release();
  other.join();
}

TEST_F(OpenFilesRecoveryTest, AWaitForAThreadThatReopensTheFileEndsAtTheDeadline) {
  const std::unique_ptr<OpenState> state = OpenFile();
  const StateId used = OpenFiles::StateOf(state.get());
  server_.ForgetOpens("f");
  HeldOperation held(server_, OP_OPEN);
  std::thread other([&] { EXPECT_EQ(Read(state.get()).data, "hello"); });
  held.AwaitReached();
  {
    const CallDeadline passed(CallDeadline::Clock::now());
    rpc::Caller::Budget budget = caller_->NewBudget();
    EXPECT_EQ(open_files_->Recover(state.get(), used, NFS4ERR_BAD_STATEID, budget),
              std::errc::timed_out);
  }
  held.Release();
  other.join();
}

TEST_F(OpenFilesRecoveryTest, AFileClosedWhileItIsReopenedIsClosedByWhoReopensIt) {
  server_.set_lease_seconds(1);
  std::unique_ptr<OpenState> state = OpenFile();
  HeldOperation held(server_, OP_OPEN);
  server_.Before(OP_RENEW, [&] { server_.Restart(true); });
  held.AwaitReached();  // the renewal reopens
  {
    const CallDeadline passed(CallDeadline::Clock::now());
    state.reset();
  }
  held.Release();
  server_.AwaitCalls(OP_CLOSE, 1);
  EXPECT_EQ(server_.opens(), 0u);
}

TEST_F(OpenFilesRecoveryTest, TheLeaseOfAnOpenFileIsRenewed) {
  server_.set_lease_seconds(1);
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.AwaitCalls(OP_RENEW, 2);
  EXPECT_EQ(server_.last_uid(OP_RENEW), Credential::OfProcess().uid());
  EXPECT_EQ(server_.calls(ClientOperation()), 1);
}

// WIRE-33: the connection has died without a FIN or RST.
TEST_F(OpenFilesRecoveryTest, ARenewalThatGetsNoReplyGoesOverAnotherConnection) {
  server_.set_lease_seconds(1);
  Connect({.timeo_ds = 6000});
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.Inject(OP_RENEW, {Kind::kSilence});
  server_.AwaitCalls(OP_RENEW, 3);
  EXPECT_EQ(caller_->connections_opened(), 2u);
  EXPECT_EQ(server_.calls(ClientOperation()), 1);
}

TEST_F(OpenFilesRecoveryTest, ARenewalAfterARestartReclaimsTheFiles) {
  server_.set_lease_seconds(1);
  const std::unique_ptr<OpenState> state = OpenFile();
  server_.Before(OP_RENEW, [&] { server_.Restart(true); });
  server_.AwaitCalls(OP_RENEW, 2);  // the second is sent after the files are reopened
  EXPECT_EQ(server_.opens(), 1u);
  EXPECT_EQ(Read(state.get()).data, "hello");
  EXPECT_EQ(server_.calls(ClientOperation()), 2);
}

}  // namespace
}  // namespace nfswalk::protocol
