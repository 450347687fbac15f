#include "nfsclient/vfs/inode_locks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/icache/inode.h"

namespace nfswalk::vfs {
namespace {

using std::chrono::milliseconds;

class InodeLocksTest : public testing::Test {
 protected:
  using Mutexes = std::pair<const DirectoryMutex*, const DirectoryMutex*>;

  Mutexes MutexesOf(const icache::Inode& a, const icache::Inode& b) {
    const auto [outer, inner] = locks_.LockPair(a, b);
    return {outer.mutex(), inner.mutex()};
  }
  // Tries the lock on another thread.
  static bool ToShare(DirectoryMutex& mutex) {
    bool free = false;
    std::thread([&] { free = std::shared_lock(mutex, std::try_to_lock).owns_lock(); }).join();
    return free;
  }
  static bool ToLock(DirectoryMutex& mutex) {
    bool free = false;
    std::thread([&] { free = std::unique_lock(mutex, std::try_to_lock).owns_lock(); }).join();
    return free;
  }

  // More than there are locks.
  static constexpr size_t kDirectories = 1025;
  const std::unique_ptr<icache::Inode[]> directories_ =
      std::make_unique<icache::Inode[]>(kDirectories);
  InodeLocks locks_;
};

TEST_F(InodeLocksTest, LookupsShareADirectoryAndExcludeItsChanges) {
  const InodeLocks::Shared lookup = locks_.LockShared(directories_[0]);
  EXPECT_TRUE(ToShare(*lookup.mutex()));
  EXPECT_FALSE(ToLock(*lookup.mutex()));
}

TEST_F(InodeLocksTest, AChangeExcludesLookupsAndOtherChanges) {
  const InodeLocks::Exclusive change = locks_.Lock(directories_[0]);
  EXPECT_FALSE(ToShare(*change.mutex()));
  EXPECT_FALSE(ToLock(*change.mutex()));
}

TEST_F(InodeLocksTest, LookupsAndChangesOfADirectoryMeetAtOneLock) {
  for (size_t i = 0; i < kDirectories; ++i) {
    const auto* const shared = locks_.LockShared(directories_[i]).mutex();
    ASSERT_EQ(locks_.Lock(directories_[i]).mutex(), shared);
  }
}

TEST_F(InodeLocksTest, BothDirectoriesOfARenameAreLocked) {
  const auto [outer, inner] = locks_.LockPair(directories_[0], directories_[1]);
  EXPECT_FALSE(ToShare(*outer.mutex()));
  EXPECT_FALSE(ToShare(*inner.mutex()));
}

TEST_F(InodeLocksTest, TwoDirectoriesAreLockedInOneOrderWhicheverComesFirst) {
  for (size_t i = 1; i < kDirectories; ++i) {
    ASSERT_EQ(MutexesOf(directories_[0], directories_[i]),
              MutexesOf(directories_[i], directories_[0]));
  }
}

TEST_F(InodeLocksTest, TwoDirectoriesThatShareALockAreLockedOnce) {
  std::map<const DirectoryMutex*, const icache::Inode*> owners;
  for (size_t i = 0; i < kDirectories; ++i) {
    const icache::Inode& directory = directories_[i];
    const DirectoryMutex* const mutex = locks_.Lock(directory).mutex();
    const auto [known, fresh] = owners.emplace(mutex, &directory);
    if (fresh) continue;
    EXPECT_EQ(MutexesOf(*known->second, directory), (Mutexes{mutex, nullptr}));
    return;
  }
  FAIL() << "no two share a lock";
}

// First come, first served: lookups that keep coming do not starve a change.
TEST_F(InodeLocksTest, ChangeWaitsOnlyForLookupsThatCameBeforeIt) {
  constexpr int kLookupsMax = 10'000;
  std::vector<int> order;  // under the lock
  auto first = std::make_unique<InodeLocks::Shared>(locks_.LockShared(directories_[0]));
  DirectoryMutex& mutex = *first->mutex();
  std::thread change([&] {
    const auto lock = locks_.Lock(directories_[0]);
    order.push_back(1);
  });
  int lookups = 0;
  while (lookups < kLookupsMax && ToShare(mutex)) ++lookups;
  EXPECT_LT(lookups, kLookupsMax) << "lookups overtake a change that waits";
  std::thread lookup([&] {
    const auto lock = locks_.LockShared(directories_[0]);
    order.push_back(2);
  });
  first.reset();
  change.join();
  lookup.join();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

// Waiters that reach the deadline of their call do not hold up others.
TEST_F(InodeLocksTest, AWaiterWhoseTimeIsOverLeavesTheQueue) {
  DirectoryMutex& second = *locks_.LockShared(directories_[1]).mutex();
  const InodeLocks::Shared first = locks_.LockShared(directories_[0]);
  DirectoryMutex& mutex = *first.mutex();
  std::thread change([&] {
    const protocol::CallDeadline deadline(DirectoryMutex::Clock::now() + milliseconds(20));
    EXPECT_FALSE(locks_.Lock(directories_[0]));
    EXPECT_FALSE(locks_.LockPair(directories_[0], directories_[1]).first);
  });
  while (ToShare(mutex)) std::this_thread::yield();  // until it waits
  std::thread lookup([&] { EXPECT_TRUE(locks_.LockShared(directories_[0])); });
  change.join();
  lookup.join();
  EXPECT_TRUE(ToShare(mutex));
  EXPECT_TRUE(ToLock(second)) << "given back with the other";
}

}  // namespace
}  // namespace nfswalk::vfs
