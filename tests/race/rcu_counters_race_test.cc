// More threads than there are private slots.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "rcu/counters.h"

namespace nfswalk::rcu {
namespace {

TEST(CountersRace, NothingIsLostWithMoreThreadsThanSlots) {
  constexpr int kThreads = kMaxThreadIndex + 60;
  constexpr uint64_t kRounds = 20'000;
  // Enough for preemption in the middle of an addition.
  constexpr uint64_t kRoundsOfSharing = 300'000;
  CounterSet<2> counters;
  std::atomic<uint64_t> sharing{0};
  std::latch all_live(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        const bool shares = ThreadIndex() == kNoThreadIndex;
        if (shares) sharing.fetch_add(1);
        all_live.arrive_and_wait();
        const uint64_t rounds = shares ? kRoundsOfSharing : kRounds;
        for (uint64_t n = 0; n < rounds; ++n) counters.Add(1);
      });
    }
  }
  EXPECT_EQ(counters.Sum(1), (kThreads - sharing) * kRounds + sharing * kRoundsOfSharing);
  EXPECT_EQ(counters.Sum(0), 0u);
  EXPECT_GE(sharing.load(), 60u);
}

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
