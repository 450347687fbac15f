// Data that is written here while other clients change, cut or remove the file, and files that are
// closed while their data is in flight.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "nfsclient/client.h"
#include "nfsclient/data/write_back.h"
#include "nfsclient/superblock/superblock.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/fake_mount.h"
#include "tests/fixtures/file_data.h"

namespace nfswalk {
namespace {

using fixtures::BytesOf;
using fixtures::Difference;
using fixtures::Pattern;
using fixtures::ReadPart;
using protocol::FakeClock;
using protocol::FakeFault;

class WriteOthers : public FakeMount {
 protected:
  nfs::DirtyFiles& files() { return ClientInternals::SuperblockOf(*client_).dirty_files; }
};
INSTANTIATE_TEST_SUITE_P(Versions, WriteOthers, testing::Values(3, 4));

// WIRE-29. What lies between the end that the file had and what was written here is no hole any
// more.
TEST_P(WriteOthers, DataOfOthersInAHoleIsReadAndNotOverwritten) {
  Mount(std::string(100, 'x'));
  const std::string foreign = Pattern(100, 1);
  ASSERT_EQ(file_->PWrite(BytesOf("own data"), 300), 8u);
  Elsewhere([&](File& file) { EXPECT_EQ(file.PWrite(BytesOf(foreign), 100), foreign.size()); });
  const auto reader = Open(kMayRead);
  EXPECT_EQ(Difference(ReadPart(*reader, 150, 50), foreign.substr(50)), "");
  ASSERT_EQ(file_->PWrite(BytesOf("patch"), 120), 5u);
  EXPECT_EQ(file_->Close(), kOk);
  std::string expected = std::string(100, 'x') + foreign + std::string(100, '\0') + "own data";
  expected.replace(120, 5, "patch");
  EXPECT_EQ(Difference(Stable(), expected), "");
}

// ATTR-19. The end that the caches had before is not what was written here.
TEST_P(WriteOthers, AnAppendGoesToTheEndOfAFileThatOthersHaveCut) {
  for (const bool is_locked : {false, true}) {
    SCOPED_TRACE(is_locked);
    MountAnew(std::string(1000, 'x'));
    Elsewhere([](File& file) { EXPECT_TRUE(file.SetAttributesOf({.size_bytes = 0})); });
    if (is_locked) {
      ASSERT_EQ(file_->TryLock(1, LockType::kWrite, 0, 0), kOk);
    }
    ASSERT_EQ(file_->PWrite(BytesOf("0123456789"), 0), 10u);
    ASSERT_EQ(file_->Append(BytesOf("abcde")), 5u);
    EXPECT_EQ(file_->attributes().size_bytes, 15u);
    EXPECT_EQ(client_->Stat("f", kUser)->size_bytes, 15u);
    EXPECT_EQ(file_->Close(), kOk);
    EXPECT_EQ(Difference(Stable(), "0123456789abcde"), "");
  }
}

// WIRE-27, NAME-30. The holder of a lock writes, and never reads.
TEST_P(WriteOthers, LockReportsChangesOfOthersToTheListener) {
  server_.set_clock(FakeClock::kFine);
  for (const bool is_changed : {false, true}) {
    SCOPED_TRACE(is_changed);
    MountAnew(Pattern(kPiece));
    std::atomic<int> told{0};
    ASSERT_EQ(client_->OnInvalidation([&told](const Invalidation& event) {
      if (event.reason == InvalidReason::kChanged) ++told;
    }), kOk);
    if (is_changed) {
      Elsewhere([](File& file) { EXPECT_EQ(file.PWrite(BytesOf("foreign"), 0), 7u); });
    }
    ASSERT_EQ(file_->TryLock(1, LockType::kWrite, 100, 3), kOk);
    ASSERT_EQ(file_->PWrite(BytesOf("own"), 100), 3u);
    EXPECT_EQ(file_->Unlock(1, 100, 3), kOk);
    client_->AwaitInvalidations();
    EXPECT_EQ(told, is_changed ? 1 : 0);
    EXPECT_EQ(Open()->is_unchanged(), !is_changed);
    ASSERT_EQ(client_->OnInvalidation({}), kOk);
  }
}

TEST_P(WriteOthers, AFileThatOthersHaveRemovedIsForgotten) {
  Mount();
  ASSERT_EQ(file_->PWrite(BytesOf("text"), 0), 4u);
  server_.Erase("f");
  EXPECT_NE(file_->Close(), kOk);
  file_ = nullptr;
  EXPECT_TRUE(files().All().empty());
  const uint64_t sent = client_->stats().rpcs;
  data::FlushDue(files(), rcu::CoarseNowNs() + 60'000'000'000);
  EXPECT_EQ(client_->stats().rpcs, sent);
}

class WriteToHiddenFile : public WriteOthers {};
INSTANTIATE_TEST_SUITE_P(Version3, WriteToHiddenFile, testing::Values(3));

// A directory whose inode has the same hash does not wait for the data of a file.
TEST_P(WriteOthers, ADirectoryDoesNotWaitForTheLockOfAFile) {
  Mount();
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
  icache::Inode inode;
  const data::RwsemGuard data(superblock, inode);
  ASSERT_TRUE(data);
  std::thread([&] {
    const Deadline passed(std::chrono::steady_clock::now());
    EXPECT_TRUE(superblock.inode_locks.Lock(inode).owns_lock());
    EXPECT_FALSE(data::RwsemGuard(superblock, inode));
  }).join();
}

#ifndef NDEBUG
// Its hidden name is removed under the lock of the directory: not under that of the file.
TEST_P(WriteToHiddenFile, AFileIsClosedAfterItsLockWhenItsDataHasLeft) {
  options_.wsize = kPiece;
  Mount();
  ASSERT_EQ(client_->Unlink("f", kUser), kOk);
  server_.Inject(op_.write, {.kind = FakeFault::Kind::kHold});
  ASSERT_EQ(file_->PWrite(Data(0, 2 * kPiece), 0), 2 * kPiece);
  server_.AwaitCalls(op_.write, 2);
  {
    const Deadline passed(std::chrono::steady_clock::now());
    EXPECT_EQ(file_->Close(), std::errc::timed_out);
    file_ = nullptr;
  }
  const auto kept = files().All();
  ASSERT_EQ(kept.size(), 1u);
  std::atomic<int> closed{0}, locked{0};
  rcu::SyncPointScript::OnReach("open:closed", [&] {
    ++closed;
    std::thread([&] {
      // Another thread that writes back may have it, too, and ends.
      const Deadline deadline(std::chrono::steady_clock::now() + std::chrono::seconds(10));
      if (kept.front()->LockAndFlush(data::WriteBack::Until::kWritten) != kOk) ++locked;
    }).join();
  });
  server_.ExecuteHeld();
  EXPECT_EQ(kept.front()->LockAndFlush(data::WriteBack::Until::kCommitted), kOk);
  ClientInternals::SuperblockOf(*client_).background.Wait();
  rcu::SyncPointScript::ClearAll();
  EXPECT_EQ(closed, 1);
  EXPECT_EQ(locked, 0);
  EXPECT_TRUE(files().All().empty());
  EXPECT_EQ(calls(NFS3_REMOVE), 1);
}
#endif

}  // namespace
}  // namespace nfswalk
