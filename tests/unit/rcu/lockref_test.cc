#include "rcu/lockref.h"

#include <gtest/gtest.h>

#include <thread>

#include "rcu/lock_order.h"

namespace nfswalk::rcu {
namespace {

TEST(Lockref, GetAndPutCountWithoutTakingTheLock) {
  Lockref ref;
  EXPECT_EQ(ref.count(), 0);
  EXPECT_FALSE(ref.dead());
  EXPECT_FALSE(ref.locked());
  const uint64_t locks = ThreadLockCount();
  ASSERT_TRUE(ref.GetNotDead());
  ref.Get();
  ASSERT_TRUE(ref.GetNotZero());
  EXPECT_EQ(ref.count(), 3);
  EXPECT_TRUE(ref.PutUnlessLast());
  EXPECT_EQ(ref.TryPut(), 1u);
  EXPECT_EQ(ThreadLockCount(), locks);
}

TEST(Lockref, PutUnlessLastRefusesTheLastReference) {
  Lockref ref;
  ref.Get();
  EXPECT_FALSE(ref.PutUnlessLast());
  EXPECT_EQ(ref.count(), 1);
}

TEST(Lockref, TryPutGoesDownToZeroAndNotBelow) {
  Lockref ref;
  ref.Get();
  EXPECT_EQ(ref.TryPut(), 0u);
  EXPECT_EQ(ref.TryPut(), std::nullopt);
  EXPECT_EQ(ref.count(), 0);
}

TEST(Lockref, GetNotDeadRevivesACachedObjectAndGetNotZeroDoesNot) {
  Lockref ref;
  EXPECT_FALSE(ref.GetNotZero());
  EXPECT_TRUE(ref.GetNotDead());
  EXPECT_TRUE(ref.GetNotZero());
}

// WALK-23.
TEST(Lockref, ADeadObjectGivesNoReferenceUntilItIsRevived) {
  Lockref ref;
  ref.Lock();
  ref.MarkDead();
  ref.Unlock();
  EXPECT_TRUE(ref.dead());
  EXPECT_FALSE(ref.GetNotDead());
  EXPECT_FALSE(ref.GetNotZero());
  EXPECT_FALSE(ref.PutUnlessLast());
  EXPECT_EQ(ref.TryPut(), std::nullopt);
  ref.Lock();
  ref.Revive(1);
  ref.Unlock();
  EXPECT_TRUE(ref.GetNotZero());
  EXPECT_EQ(ref.count(), 2);
}

TEST(Lockref, UnderTheLockTheCountIsChangedDirectly) {
  Lockref ref;
  ref.Lock();
  ref.IncrementLocked();
  ref.IncrementLocked();
  EXPECT_EQ(ref.DecrementLocked(), 1);
  EXPECT_TRUE(ref.locked());
  ref.Unlock();
  EXPECT_EQ(ref.count(), 1);
  EXPECT_FALSE(ref.locked());
}

TEST(Lockref, LockFreePutsRefuseWhileTheLockIsHeld) {
  Lockref ref;
  ref.Get();
  ref.Get();
  ref.Lock();
  EXPECT_FALSE(ref.PutUnlessLast());
  EXPECT_EQ(ref.TryPut(), std::nullopt);
  EXPECT_EQ(ref.count(), 2);
  ref.Unlock();
}

TEST(Lockref, TryLockFailsWhileAnotherThreadHoldsTheLock) {
  Lockref ref;
  ref.Lock();
  bool got = true;
  std::thread([&] { got = ref.TryLock(); }).join();
  EXPECT_FALSE(got);
  ref.Unlock();
  EXPECT_TRUE(ref.TryLock());
  ref.Unlock();
}

TEST(Lockref, AGetWaitsForTheHolderAndThenSucceedsOrFailsByItsVerdict) {
  Lockref ref;
  ref.Lock();
  bool got = true;
  std::thread getter([&] { got = ref.GetNotDead(); });
  for (int i = 0; i < 200; ++i) std::this_thread::yield();
  ref.MarkDead();
  ref.Unlock();
  getter.join();
  EXPECT_FALSE(got);
  EXPECT_TRUE(ref.dead());
}

#ifdef NFSWALK_LOCK_ORDER
TEST(LockrefDeathTest, ItsClassIsChecked) {
  Lockref dentry;
  Lockref inode(LockClass::kInode);
  dentry.Lock();
  EXPECT_DEATH(inode.Lock(), "taken out of order: inode .held: dentry.");
  Lockref child;
  child.LockNested();
  child.Unlock();
  dentry.Unlock();
}
#endif

}  // namespace
}  // namespace nfswalk::rcu
