// Which files are open, against removals of their names. NAME-31.
#include "nfsclient/superblock/open_inodes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <thread>

#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/protocol/cancellation.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {
namespace {

class OpenInodesTest : public testing::Test {
 protected:
  void TearDown() override { rcu::SyncPointScript::ClearAll(); }
  // The thread's calls have no time left.
  static auto NoTime() {
    return protocol::CallDeadline(protocol::CallDeadline::Clock::time_point::min());
  }

  OpenInodes inodes_;
  icache::Inode inode_, other_;
};

TEST_F(OpenInodesTest, AnInodeIsOpenUntilItsLastClose) {
  const auto is_open = [&] { return OpenInodes::Removal(inodes_, inode_).is_open(); };
  EXPECT_FALSE(is_open());
  ASSERT_TRUE(inodes_.Add(inode_));
  ASSERT_TRUE(inodes_.Add(inode_));
  EXPECT_TRUE(is_open());
  EXPECT_FALSE(OpenInodes::Removal(inodes_, other_).is_open());
  inodes_.Remove(inode_);
  EXPECT_TRUE(is_open());
  inodes_.Remove(inode_);
  EXPECT_FALSE(is_open());
}

TEST_F(OpenInodesTest, ARemovalKeepsOutOpensAndRemovalsOfItsInodeOnly) {
  const OpenInodes::Removal removal(inodes_, inode_);
  ASSERT_TRUE(removal);
  const auto no_time = NoTime();
  EXPECT_FALSE(inodes_.Add(inode_));
  EXPECT_FALSE(OpenInodes::Removal(inodes_, inode_));
  EXPECT_TRUE(inodes_.Add(other_));
  EXPECT_TRUE(OpenInodes::Removal(inodes_, other_));
  inodes_.Remove(other_);
}

#ifndef NDEBUG
TEST_F(OpenInodesTest, AnOpenWaitsForTheEndOfARemoval) {
  std::latch waits(1);
  rcu::SyncPointScript::OnReach("open-inodes:wait-for-removal", [&] { waits.count_down(); });
  std::thread opener;
  {
    const OpenInodes::Removal removal(inodes_, inode_);
    opener = std::thread([&] { EXPECT_TRUE(inodes_.Add(inode_)); });
    waits.wait();
    EXPECT_FALSE(removal.is_open());
  }
  opener.join();
  EXPECT_TRUE(OpenInodes::Removal(inodes_, inode_).is_open());
  inodes_.Remove(inode_);
}
#endif

#ifndef NDEBUG
// Whoever is killed there does not wait for a server that another waits for.
TEST_F(OpenInodesTest, ACancellationEndsTheWaitForARemoval) {
  const OpenInodes::Removal removal(inodes_, inode_);
  ASSERT_TRUE(removal);
  for (const bool removes : {false, true}) {
    protocol::Cancellation cancellation;
    const protocol::CancelScope scope(cancellation);
    rcu::SyncPointScript::OnReach("open-inodes:wait-for-removal", [&] { cancellation.Cancel(); });
    EXPECT_FALSE(removes ? static_cast<bool>(OpenInodes::Removal(inodes_, inode_))
                         : inodes_.Add(inode_));
    EXPECT_EQ(protocol::CallDeadline::Error(), std::errc::operation_canceled);
    EXPECT_FALSE(removal.is_open());
  }
}

// A thread that may be cancelled counts once, however often its wait is looked at.
TEST_F(OpenInodesTest, AnOpenThatMayBeCancelledCountsOnce) {
  std::latch waits(1);
  rcu::SyncPointScript::OnReach("open-inodes:wait-for-removal", [&] { waits.count_down(); });
  std::thread opener;
  {
    const OpenInodes::Removal removal(inodes_, inode_);
    opener = std::thread([&] {
      protocol::Cancellation cancellation;
      const protocol::CancelScope scope(cancellation);
      EXPECT_TRUE(inodes_.Add(inode_));
    });
    waits.wait();
  }
  opener.join();
  inodes_.Remove(inode_);
  EXPECT_FALSE(OpenInodes::Removal(inodes_, inode_).is_open());
}
#endif

TEST_F(OpenInodesTest, CountersOfHiddenNamesDiffer) {
  const uint32_t first = inodes_.NextCounter();
  EXPECT_EQ(inodes_.NextCounter(), first + 1);
}

}  // namespace
}  // namespace nfswalk::nfs
