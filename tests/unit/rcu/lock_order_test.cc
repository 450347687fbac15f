#include "rcu/lock_order.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "rcu/read_guard.h"
#include "rcu/spin_lock.h"

namespace nfswalk::rcu {
namespace {

#ifdef NFSWALK_LOCK_ORDER

TEST(LockOrder, LocksInOrderAreAcceptedAndCountedByClass) {
  SpinLock inode(LockClass::kInode);
  SpinLock dentry(LockClass::kDentry);
  const uint64_t before = ThreadLockCount();
  const uint64_t dentries_before = ThreadLockCount(LockClass::kDentry);
  {
    std::lock_guard outer(inode);
    std::lock_guard inner(dentry);
  }
  { std::lock_guard again(dentry); }
  EXPECT_EQ(ThreadLockCount() - before, 3u);
  EXPECT_EQ(ThreadLockCount(LockClass::kDentry) - dentries_before, 2u);
}

TEST(LockOrder, TheCountIsTheThreadsOwn) {
  const uint64_t before = ThreadLockCount();
  std::thread([] {
    SpinLock lock(LockClass::kInode);
    std::lock_guard guard(lock);
    EXPECT_EQ(ThreadLockCount(), 1u);
  }).join();
  EXPECT_EQ(ThreadLockCount(), before);
}

TEST(LockOrder, LocksMayBeReleasedInAnyOrder) {
  SpinLock inode(LockClass::kInode);
  SpinLock dentry(LockClass::kDentry);
  inode.lock();
  dentry.lock();
  inode.unlock();
  dentry.unlock();
  AssertNoLocksHeld();
}

// INODE-3.
TEST(LockOrderDeathTest, TakingAnOuterLockUnderAnInnerOneAborts) {
  SpinLock inode(LockClass::kInode);
  SpinLock dentry(LockClass::kDentry);
  std::lock_guard inner(dentry);
  EXPECT_DEATH(inode.lock(), "taken out of order: inode .held: dentry.");
}

TEST(LockOrderDeathTest, ASecondLockOfAClassNeedsTheNestedForm) {
  SpinLock parent(LockClass::kDentry);
  SpinLock child(LockClass::kDentry);
  std::lock_guard outer(parent);
  EXPECT_DEATH(child.lock(), "taken out of order: dentry");
  child.LockNested();
  child.unlock();
}

TEST(LockOrderDeathTest, TheNestedFormDoesNotExcuseAnEarlierClass) {
  SpinLock inode(LockClass::kInode);
  SpinLock dentry(LockClass::kDentry);
  std::lock_guard inner(dentry);
  EXPECT_DEATH(inode.LockNested(), "taken out of order: inode");
}

TEST(LockOrder, ATryLockMayGoAgainstTheOrder) {
  SpinLock dentry(LockClass::kDentry);
  SpinLock lru(LockClass::kLru);
  std::lock_guard outer(lru);
  ASSERT_TRUE(dentry.try_lock());
  dentry.unlock();
}

TEST(LockOrderDeathTest, BlockingUnderATriedLockIsStillChecked) {
  SpinLock inode(LockClass::kInode);
  SpinLock dentry(LockClass::kDentry);
  ASSERT_TRUE(dentry.try_lock());
  EXPECT_DEATH(inode.lock(), "taken out of order: inode");
  dentry.unlock();
}

TEST(LockOrderDeathTest, ALeafAllowsNothingUnderIt) {
  SpinLock leaf;
  SpinLock wait(LockClass::kWait);
  std::lock_guard outer(leaf);
  EXPECT_DEATH(wait.lock(), "taken out of order: wait .held: leaf.");
}

TEST(LockOrderDeathTest, LockingTwiceIsReportedInsteadOfDeadlocking) {
  SpinLock lock(LockClass::kInode);
  std::lock_guard guard(lock);
  EXPECT_DEATH(lock.LockNested(), "already held by this thread: inode");
}

TEST(LockOrderDeathTest, ReleasingALockOfNobodyAborts) {
  SpinLock lock(LockClass::kInode);
  EXPECT_DEATH(lock.unlock(), "does not hold");
}

TEST(LockOrderDeathTest, SleepingUnderASpinningLockAborts) {
  SpinLock inode(LockClass::kInode);
  std::lock_guard guard(inode);
  EXPECT_DEATH(AssertNoLocksHeld(), "must not be held: inode");
  EXPECT_DEATH(AssertMaySleep(), "must not be held: inode");
}

TEST(LockOrder, SleepingUnderADirectoryMutexIsAllowed) {
  const char mutex = 0;
  NoteLockAcquire(LockClass::kDirectory, &mutex, LockAttempt::kBlocking);
  AssertMaySleep();
  NoteLockRelease(&mutex);
}

TEST(LockOrderDeathTest, SleepingInAReadSectionAborts) {
  ReadGuard guard;
  AssertNoLocksHeld();
  EXPECT_DEATH(AssertMaySleep(), "read-side critical section");
}

TEST(LockOrderDeathTest, TheReadSectionCheckSeesWhetherThereIsOne) {
  EXPECT_DEATH(AssertInReadSection(), "not inside a read-side critical section");
  ReadGuard guard;
  AssertInReadSection();
}

TEST(LockOrderDeathTest, TheHeldCheckSeesWhetherTheLockIsHeld) {
  SpinLock lock(LockClass::kInode);
  EXPECT_DEATH(lock.AssertHeld(), "must be held");
  std::lock_guard guard(lock);
  lock.AssertHeld();
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
