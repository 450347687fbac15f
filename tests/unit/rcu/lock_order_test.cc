#include "rcu/lock_order.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "rcu/read_guard.h"
#include "rcu/spin_lock.h"

namespace nfswalk::rcu {
namespace {

#ifdef NFSWALK_LOCK_ORDER

class LockOrder : public testing::Test {
 protected:
  SpinLock inode_{LockClass::kInode}, dentry_{LockClass::kDentry};  // in this order
};
using LockOrderDeathTest = LockOrder;

TEST_F(LockOrder, LocksInOrderAreAcceptedAndCountedByClass) {
  const uint64_t before = ThreadLockCount();
  const uint64_t dentries_before = ThreadLockCount(LockClass::kDentry);
  {
    std::lock_guard outer(inode_);
    std::lock_guard inner(dentry_);
  }
  { std::lock_guard again(dentry_); }
  EXPECT_EQ(ThreadLockCount() - before, 3u);
  EXPECT_EQ(ThreadLockCount(LockClass::kDentry) - dentries_before, 2u);
}

TEST_F(LockOrder, TheCountIsTheThreadsOwn) {
  const uint64_t before = ThreadLockCount();
  std::thread([this] {
    std::lock_guard guard(inode_);
    EXPECT_EQ(ThreadLockCount(), 1u);
  }).join();
  EXPECT_EQ(ThreadLockCount(), before);
}

TEST_F(LockOrder, LocksMayBeReleasedInAnyOrder) {
  inode_.lock();
  dentry_.lock();
  inode_.unlock();
  dentry_.unlock();
  AssertNoLocksHeld();
}

// INODE-3.
TEST_F(LockOrderDeathTest, TakingAnOuterLockUnderAnInnerOneAborts) {
  std::lock_guard inner(dentry_);
  EXPECT_DEATH(inode_.lock(), "taken out of order: inode .held: dentry.");
  EXPECT_DEATH(inode_.LockNested(), "taken out of order: inode");
}

TEST_F(LockOrderDeathTest, ASecondLockOfAClassNeedsTheNestedForm) {
  SpinLock child(LockClass::kDentry);
  std::lock_guard outer(dentry_);
  EXPECT_DEATH(child.lock(), "taken out of order: dentry");
  child.LockNested();
  child.unlock();
}

TEST_F(LockOrder, ATryLockMayGoAgainstTheOrder) {
  SpinLock lru(LockClass::kLru);
  std::lock_guard outer(lru);
  ASSERT_TRUE(dentry_.try_lock());
  dentry_.unlock();
}

TEST_F(LockOrderDeathTest, BlockingUnderATriedLockIsStillChecked) {
  ASSERT_TRUE(dentry_.try_lock());
  EXPECT_DEATH(inode_.lock(), "taken out of order: inode");
  dentry_.unlock();
}

TEST_F(LockOrderDeathTest, ALeafAllowsNothingUnderIt) {
  SpinLock leaf;
  SpinLock wait(LockClass::kWait);
  std::lock_guard outer(leaf);
  EXPECT_DEATH(wait.lock(), "taken out of order: wait .held: leaf.");
}

TEST_F(LockOrderDeathTest, LockingTwiceIsReportedInsteadOfDeadlocking) {
  std::lock_guard guard(inode_);
  EXPECT_DEATH(inode_.LockNested(), "already held by this thread: inode");
}

TEST_F(LockOrderDeathTest, ReleasingALockOfNobodyAborts) {
  EXPECT_DEATH(inode_.unlock(), "does not hold");
}

TEST_F(LockOrderDeathTest, SleepingUnderASpinningLockAborts) {
  std::lock_guard guard(inode_);
  EXPECT_DEATH(AssertNoLocksHeld(), "must not be held: inode");
  EXPECT_DEATH(AssertMaySleep(), "must not be held: inode");
}

TEST_F(LockOrder, SleepingUnderADirectoryMutexIsAllowed) {
  const char mutex = 0;
  NoteLockAcquire(LockClass::kDirectory, &mutex, LockAttempt::kBlocking);
  AssertMaySleep();
  NoteLockRelease(&mutex);
}

TEST_F(LockOrderDeathTest, SleepingInAReadSectionAborts) {
  ReadGuard guard;
  AssertNoLocksHeld();
  EXPECT_DEATH(AssertMaySleep(), "read-side critical section");
}

TEST_F(LockOrderDeathTest, TheReadSectionCheckSeesWhetherThereIsOne) {
  EXPECT_DEATH(AssertInReadSection(), "not inside a read-side critical section");
  ReadGuard guard;
  AssertInReadSection();
}

TEST_F(LockOrderDeathTest, TheHeldCheckSeesWhetherTheLockIsHeld) {
  EXPECT_DEATH(inode_.AssertHeld(), "must be held");
  std::lock_guard guard(inode_);
  inode_.AssertHeld();
}

#else

TEST(LockOrder, CostsNothingInARelease) {
  EXPECT_EQ(sizeof(SpinLock), 4u);
  SpinLock lock(LockClass::kInode);
  std::lock_guard guard(lock);
  EXPECT_EQ(ThreadLockCount(), 0u);
}

#endif

}  // namespace
}  // namespace nfswalk::rcu
