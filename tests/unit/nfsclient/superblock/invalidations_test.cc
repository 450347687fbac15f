// The queue of what became invalid. NAME-30.
#include "nfsclient/superblock/invalidations.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/protocol/types.h"

namespace nfswalk::nfs {
namespace {

using protocol::kOk;

class InvalidationsTest : public testing::Test {
 protected:
  InvalidationsTest() {
    first_.fileid = 1;
    second_.fileid = 2;
  }

  Invalidations::Listener Noting() {
    return [this](const Invalidation& event) {
      const std::lock_guard lock(mutex_);
      told_.push_back(std::to_string(static_cast<int>(event.reason)) + " " +
                      std::to_string(event.node.fileid) + " " + event.name);
      noted_.notify_all();
    };
  }
  std::vector<std::string> Await(size_t count) {
    std::unique_lock lock(mutex_);
    noted_.wait(lock, [&] { return told_.size() >= count; });
    return told_;
  }

  icache::Inode first_, second_;
  std::mutex mutex_;
  std::condition_variable noted_;
  std::vector<std::string> told_;
  Invalidations invalidations_;
};

TEST_F(InvalidationsTest, TellsInOrderAndNothingTwiceInARow) {
  invalidations_.Post(InvalidReason::kStale, first_);  // no listener
  std::mutex hold;
  std::unique_lock held(hold);
  std::latch inside(1);
  ASSERT_EQ(invalidations_.Listen(
                [&, note = Noting()](const Invalidation& event) {
                  if (event.reason == InvalidReason::kAttributes) inside.count_down();
                  const std::lock_guard wait(hold);
                  note(event);
                },
                16),
            kOk);
  EXPECT_TRUE(invalidations_.listening());
  invalidations_.Post(InvalidReason::kAttributes, first_);
  inside.wait();
  for (int i = 0; i < 3; ++i) invalidations_.Post(InvalidReason::kChanged, first_);
  invalidations_.Post(InvalidReason::kChanged, second_);
  invalidations_.Post(InvalidReason::kName, second_, "a");
  invalidations_.Post(InvalidReason::kName, second_, "b");
  invalidations_.Post(InvalidReason::kChanged, first_);
  held.unlock();
  EXPECT_EQ(Await(6), (std::vector<std::string>{"1 1 ", "0 1 ", "0 2 ", "2 2 a", "2 2 b", "0 1 "}));
  invalidations_.Stop();  // before what the listener refers to
}

// Also of one that waits behind it, and of all that did not fit.
TEST_F(InvalidationsTest, AnEventIsQueuedUntilTheListenerHasReturnedFromIt) {
  const auto has = [this](const icache::Inode& inode) {
    return invalidations_.HasQueued(NodeIdOf(inode));
  };
  EXPECT_FALSE(has(first_)) << "no listener";
  icache::Inode third;
  third.fileid = 3;
  std::mutex hold;
  for (const bool overflows : {false, true}) {
    std::unique_lock held(hold);
    std::latch inside(1);
    ASSERT_EQ(invalidations_.Listen(
                  [&](const Invalidation& event) {
                    if (event.node == NodeIdOf(first_)) inside.count_down();
                    const std::lock_guard wait(hold);
                  },
                  2),
              kOk);
    invalidations_.Post(InvalidReason::kChanged, first_);
    inside.wait();
    invalidations_.Post(InvalidReason::kName, second_, "a");
    for (int i = 0; overflows && i < 2; ++i) {
      invalidations_.Post(InvalidReason::kName, second_, std::to_string(i));
    }
    EXPECT_TRUE(has(first_)) << "delivered";
    EXPECT_TRUE(has(second_)) << "waits";
    EXPECT_EQ(has(third), overflows);
    held.unlock();
    invalidations_.AwaitDelivery();
    EXPECT_FALSE(has(first_));
    EXPECT_FALSE(has(second_));
    EXPECT_FALSE(has(third));
    invalidations_.Stop();  // before what the listener refers to
  }
}

TEST_F(InvalidationsTest, DeliveryCanBeAwaited) {
  invalidations_.AwaitDelivery();  // no listener
  std::atomic<int> told = 0;
  const auto count = [&](const Invalidation&) {
    std::this_thread::yield();
    ++told;
  };
  ASSERT_EQ(invalidations_.Listen(count, 4), kOk);
  for (int i = 1; i <= 200; ++i) {
    invalidations_.Post(InvalidReason::kChanged, i % 2 == 0 ? first_ : second_);
    invalidations_.AwaitDelivery();
    EXPECT_EQ(told, i);
  }
  invalidations_.Stop();
}

TEST_F(InvalidationsTest, AwaitingEndsWithTheListenerAndTheDeadline) {
  std::mutex hold;
  std::unique_lock held(hold);
  const auto wait = [&](const Invalidation&) { const std::lock_guard waiting(hold); };
  ASSERT_EQ(invalidations_.Listen(wait, 4), kOk);
  invalidations_.Post(InvalidReason::kChanged, first_);
  {
    const protocol::Deadline none(protocol::Deadline::Clock::time_point{});
    invalidations_.AwaitDelivery();
  }
  std::jthread waiter([&] { invalidations_.AwaitDelivery(); });
  std::jthread stopper([&] { invalidations_.Stop(); });
  while (invalidations_.listening()) std::this_thread::yield();
  held.unlock();
  waiter.join();
  stopper.join();
}

TEST_F(InvalidationsTest, OverflowIsEverything) {
  std::mutex hold;
  std::unique_lock held(hold);
  std::latch inside(1);
  ASSERT_EQ(invalidations_.Listen(
                [&, note = Noting()](const Invalidation& event) {
                  if (event.reason == InvalidReason::kStale) inside.count_down();
                  const std::lock_guard wait(hold);
                  note(event);
                },
                2),
            kOk);
  invalidations_.Post(InvalidReason::kStale, first_);
  inside.wait();
  for (const char* name : {"a", "b", "c", "d"}) {
    invalidations_.Post(InvalidReason::kName, second_, name);
  }
  held.unlock();
  EXPECT_EQ(Await(2), (std::vector<std::string>{"3 1 ", "4 0 "}));
  invalidations_.Post(InvalidReason::kChanged, second_);
  EXPECT_EQ(Await(3).back(), "0 2 ");
  invalidations_.Stop();
}

TEST_F(InvalidationsTest, TheEndWaitsForTheListener) {
  ASSERT_EQ(invalidations_.Listen(Noting(), 8), kOk);
  invalidations_.PostEverything();
  (void)Await(1);
  ASSERT_EQ(invalidations_.Listen({}, 0), kOk);
  EXPECT_FALSE(invalidations_.listening());
  invalidations_.PostEverything();
  ASSERT_EQ(invalidations_.Listen(Noting(), 8), kOk);
  invalidations_.Post(InvalidReason::kChanged, first_);
  EXPECT_EQ(Await(2).back(), "0 1 ");
  invalidations_.Stop();
  invalidations_.Stop();
}

}  // namespace
}  // namespace nfswalk::nfs
