// More threads than a set of counters has slots for at first.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "rcu/counters.h"

namespace nfswalk::rcu {
namespace {

TEST(CountersRace, EveryThreadHasASlotOfItsOwnHoweverManyThereAre) {
  constexpr int kThreads = 2 * kFirstCounterSlots + 60;
  constexpr uint64_t kRounds = 2000;
  CounterSet<2> counters;
  std::atomic<int> alone{0};
  std::latch all_live(kThreads), all_counted(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        (void)ThreadIndex();
        all_live.arrive_and_wait();
        uint64_t mine = 0;
        for (uint64_t n = 0; n < kRounds; ++n) mine = counters.Add(1);
        alone += mine == kRounds;
        all_counted.arrive_and_wait();  // else a new thread may take over the slot
      });
    }
  }
  EXPECT_EQ(alone, kThreads);
  EXPECT_EQ(counters.Sum(1), kThreads * kRounds);
  EXPECT_EQ(counters.Sum(0), 0u);
}

// Adds in the destructors of its thread, where it has no slot of its own any more.
struct AddsAtExit {
  CounterSet<1>* counters = nullptr;
  ~AddsAtExit() {
    for (uint64_t n = 0; n < kRounds; ++n) counters->Add(0);
  }
  // Enough for preemption in the middle of an addition.
  static constexpr uint64_t kRounds = 300'000;
};

TEST(CountersRace, NothingIsLostWhileThreadsExit) {
  constexpr int kThreads = 8;
  CounterSet<1> counters;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        thread_local AddsAtExit at_exit;  // older than the owner of the index, so it goes later
        at_exit.counters = &counters;
        (void)ThreadIndex();
      });
    }
  }
  EXPECT_EQ(counters.Sum(0), kThreads * AddsAtExit::kRounds);
}

#ifndef NDEBUG
TEST(CountersRace, WithoutMemoryForASlotTheAdditionsAreShared) {
  constexpr int kThreads = kFirstCounterSlots + 8;
  constexpr uint64_t kRounds = 20'000;
  CounterSet<1> counters;
  std::latch all_live(kThreads);
  MappingFault::FailAfter(0);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        (void)ThreadIndex();
        all_live.arrive_and_wait();
        for (uint64_t n = 0; n < kRounds; ++n) counters.Add(0);
      });
    }
  }
  EXPECT_GT(MappingFault::failures(), 0);
  MappingFault::Clear();
  EXPECT_EQ(counters.Sum(0), kThreads * kRounds);
}
#endif

TEST(CountersRace, ASumTakenWhileThreadsCountNeverGoesBack) {
  CounterSet<1> counters;
  constexpr uint64_t kRounds = 200'000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (uint64_t n = 0; n < kRounds; ++n) counters.Add(0);
      });
    }
    for (uint64_t last = 0, i = 0; i < 1000; ++i) {
      const uint64_t sum = counters.Sum(0);
      ASSERT_GE(sum, last);
      last = sum;
    }
  }
  EXPECT_EQ(counters.Sum(0), 3 * kRounds);
}

}  // namespace
}  // namespace nfswalk::rcu
