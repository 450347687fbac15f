#include "rcu/defer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "rcu/lock_order.h"
#include "rcu/read_guard.h"

namespace nfswalk::rcu {
namespace {

struct Item {
  DeferHead defer_head;
  std::atomic<bool> done{false};
};

void MarkDone(DeferHead* head) { reinterpret_cast<Item*>(head)->done.store(true); }

TEST(Defer, TheCallbackRunsOnlyAfterTheReadSectionEnds) {
  Item item;
  std::jthread hurry;
  {
    ReadGuard reader;
    Defer(&item.defer_head, &MarkDone);
    hurry = std::jthread(&Barrier);
    // Far more yields than a callback takes.
    for (int i = 0; i < 10'000 && !item.done.load(); ++i) std::this_thread::yield();
    EXPECT_FALSE(item.done.load());
  }
  Barrier();
  EXPECT_TRUE(item.done.load());
}

TEST(Defer, BarrierWaitsForAllCallbacksOfAllThreads) {
  constexpr int kThreads = 4;
  constexpr int kItems = 200;
  std::vector<Item> items(kThreads * kItems);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kItems; ++i) Defer(&items[t * kItems + i].defer_head, &MarkDone);
      });
    }
  }
  Barrier();
  for (const Item& item : items) ASSERT_TRUE(item.done.load());
}

TEST(Defer, CallbacksOfOneThreadRunInTheOrderInWhichTheyWereDeferred) {
  struct Numbered {
    DeferHead defer_head;
    int number;
  };
  static std::vector<int> ran;
  std::array<Numbered, 100> items{};
  {
    const ReadGuard until_all_are_deferred;
    for (int i = 0; i < 100; ++i) {
      items[i].number = i;
      Defer(&items[i].defer_head,
            [](DeferHead* head) { ran.push_back(reinterpret_cast<Numbered*>(head)->number); });
    }
  }
  Barrier();
  EXPECT_EQ(ran.size(), items.size());
  EXPECT_TRUE(std::ranges::is_sorted(ran));
}

TEST(Defer, CallbacksRunWithoutABarrier) {
  for (int i = 0; i < 10; ++i) {
    Item item;
    Defer(&item.defer_head, &MarkDone);
    while (!item.done.load()) std::this_thread::yield();
  }
}

TEST(Defer, ACallbackMayEnterAReadSectionAndDeferAgain) {
  static std::atomic<bool> second_ran{false};
  static Item second;
  Item first;
  Defer(&first.defer_head, [](DeferHead*) {
    ReadGuard reader;
    Defer(&second.defer_head, [](DeferHead*) { second_ran.store(true); });
  });
  Barrier();
  Barrier();
  EXPECT_TRUE(second_ran.load());
}

TEST(Synchronize, WaitsForAReaderThatStartedBefore) {
  std::atomic<bool> inside{false};
  std::atomic<bool> may_leave{false};
  std::atomic<bool> left{false};
  std::jthread reader([&] {
    ReadGuard guard;
    inside.store(true);
    while (!may_leave.load()) std::this_thread::yield();
    left.store(true);
  });
  while (!inside.load()) std::this_thread::yield();
  std::jthread releaser([&] { may_leave.store(true); });
  Synchronize();
  EXPECT_TRUE(left.load());
}

TEST(ReadGuard, SectionsNest) {
  EXPECT_FALSE(InReadSection());
  {
    ReadGuard outer;
    {
      ReadGuard inner;
    }
    EXPECT_TRUE(InReadSection());
  }
  EXPECT_FALSE(InReadSection());
}

#ifdef NFSWALK_LOCK_ORDER
TEST(DeferDeathTest, WaitingInsideAReadSectionAbortsInsteadOfDeadlocking) {
  ReadGuard reader;
  EXPECT_DEATH(Synchronize(), "read-side critical section");
  EXPECT_DEATH(Barrier(), "read-side critical section");
}
#endif

}  // namespace
}  // namespace nfswalk::rcu
