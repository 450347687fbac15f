#include "rcu/spin_lock.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "rcu/counted_lock.h"

namespace nfswalk::rcu {
namespace {

TEST(SpinLock, TryLockFailsOnlyWhileAnotherThreadHoldsIt) {
  SpinLock lock;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(lock.try_lock());
    bool got = true;
    std::thread([&] { got = lock.try_lock(); }).join();
    EXPECT_FALSE(got);
    lock.unlock();
  }
}

// INODE-24.
TEST(SpinLock, AWaiterThatNapsGetsTheLockInTheEnd) {
  // The holder yields far more often than the waiter spins and yields.
  SpinLock lock;
  int entered = 0;
  lock.lock();
  std::thread waiter([&] {
    std::lock_guard guard(lock);
    ++entered;
  });
  for (int i = 0; i < 2000; ++i) std::this_thread::yield();
  EXPECT_EQ(entered, 0);
  lock.unlock();
  waiter.join();
  EXPECT_EQ(entered, 1);
}

TEST(CountedLockTest, CountsWhatWasTakenAndNotWhatWasTried) {
  CountedLock lock;
  EXPECT_EQ(lock.acquisitions(), 0u);
  for (int i = 0; i < 3; ++i) std::lock_guard guard(lock);
  ASSERT_TRUE(lock.try_lock());
  std::jthread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  EXPECT_EQ(lock.acquisitions(), 4u);
}

TEST(CountedLockTest, ExcludesAndCountsExactlyAcrossThreads) {
  constexpr uint64_t kEach = 20'000;
  CountedLock lock;
  uint64_t shared = 0;
  const auto work = [&] {
    for (uint64_t i = 0; i < kEach; ++i) {
      std::lock_guard guard(lock);
      ++shared;
    }
  };
  std::jthread one(work), other(work);
  one.join();
  other.join();
  EXPECT_EQ(shared, 2 * kEach);
  EXPECT_EQ(lock.acquisitions(), 2 * kEach);
}

TEST(CountedLockTest, HasACacheLineOfItsOwn) {
  EXPECT_EQ(alignof(CountedLock), 64u);
  EXPECT_EQ(sizeof(CountedLock), 64u);
}

#ifndef NDEBUG
TEST(CountedLockDeathTest, HasTheClassItWasGiven) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  CountedLock list(LockClass::kSuperblockList), chain;
  std::lock_guard guard(list);
  EXPECT_DEATH(chain.lock(), "taken out of order: hash chain \\(held: superblock list\\)");
  EXPECT_DEATH(chain.AssertHeld(), "a lock that must be held is not");
}
#endif

}  // namespace
}  // namespace nfswalk::rcu
