#include "rcu/wait_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "rcu/read_guard.h"
#include "rcu/spin_lock.h"

namespace nfswalk::rcu {
namespace {

// An object whose users wait until it is done.
struct Object {
  // Waits as the inode cache does: from the start after each wake-up.
  void Await() {
    for (;;) {
      lock.lock();
      if (done) {
        lock.unlock();
        return;
      }
      const WaitTable::Ticket ticket = WaitTable::Prepare(this);
      ++asleep;
      lock.unlock();
      WaitTable::Sleep(ticket);
    }
  }
  void Finish() {
    {
      std::lock_guard guard(lock);
      done = true;
    }
    WaitTable::Wake(this);
  }

  SpinLock lock;
  bool done = false;
  std::atomic<int> asleep{0};
};

TEST(WaitTableTest, AWakeUpEndsTheSleepOfAllAndOnesBeforeItChangeNothing) {
  Object object;
  for (int i = 0; i < 10; ++i) WaitTable::Wake(&object);
  std::vector<std::jthread> waiters;
  for (int i = 0; i < 4; ++i) waiters.emplace_back([&] { object.Await(); });
  while (object.asleep < 4) std::this_thread::yield();
  object.Finish();
  for (std::jthread& waiter : waiters) waiter.join();
  EXPECT_TRUE(object.done);
}

// INODE-8.
TEST(WaitTableTest, AWakeUpBetweenTicketAndSleepIsNotLostAlsoOfAnObjectThatIsGone) {
  auto object = std::make_unique<Object>();
  object->lock.lock();
  const WaitTable::Ticket ticket = WaitTable::Prepare(object.get());
  object->lock.unlock();
  object->Finish();
  object = nullptr;
  WaitTable::Sleep(ticket);  // returns at once
}

TEST(WaitTableTest, OtherObjectsMayWakeASleeperThatThenSleepsOn) {
  // More objects than buckets: some share one.
  std::vector<Object> objects(1000);
  std::atomic<bool> returned{false};
  std::jthread waiter([&] {
    objects[0].Await();
    returned = true;
  });
  while (objects[0].asleep == 0) std::this_thread::yield();
  for (size_t i = 1; i < objects.size(); ++i) objects[i].Finish();
  EXPECT_FALSE(returned);
  objects[0].Finish();
  waiter.join();
  EXPECT_TRUE(returned);
}

#ifndef NDEBUG
TEST(WaitTableDeathTest, NobodySleepsWithALockOrInAReadSection) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Object object;
  EXPECT_DEATH(
      {
        std::lock_guard guard(object.lock);
        WaitTable::Sleep(WaitTable::Prepare(&object));
      },
      "must not be held");
  EXPECT_DEATH(
      {
        ReadGuard guard;
        WaitTable::Sleep(WaitTable::Prepare(&object));
      },
      "sleeping inside a read-side critical section");
}
#endif

}  // namespace
}  // namespace nfswalk::rcu
