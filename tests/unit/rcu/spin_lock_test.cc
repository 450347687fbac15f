#include "rcu/spin_lock.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

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

}  // namespace
}  // namespace nfswalk::rcu
