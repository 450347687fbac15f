#include "rcu/counters.h"

#include <gtest/gtest.h>

#include <latch>
#include <set>
#include <thread>
#include <vector>

namespace nfswalk::rcu {
namespace {

TEST(Counters, EachCounterSumsItsOwnAdditions) {
  CounterSet<3> counters;
  counters.Add(0);
  counters.Add(1, 10);
  counters.Add(1, 5);
  EXPECT_EQ(counters.Sum(0), 1u);
  EXPECT_EQ(counters.Sum(1), 15u);
  EXPECT_EQ(counters.Sum(2), 0u);
}

TEST(Counters, NothingIsLostWhenThreadsComeAndGo) {
  CounterSet<1> counters;
  for (int i = 0; i < 2000; ++i) {
    std::thread([&] { counters.Add(0); }).join();
  }
  EXPECT_EQ(counters.Sum(0), 2000u);
}

TEST(Counters, LiveThreadsHaveDifferentIndices) {
  constexpr int kThreads = 16;
  std::vector<uint32_t> indices(kThreads);
  std::latch all_have_one(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        indices[i] = ThreadIndex();
        all_have_one.arrive_and_wait();
      });
    }
  }
  EXPECT_EQ(std::set<uint32_t>(indices.begin(), indices.end()).size(), size_t{kThreads});
  for (const uint32_t index : indices) EXPECT_LE(index, kThreads);  // and this one
}

TEST(Counters, AnIndexIsUsedAgainAfterItsThreadExits) {
  uint32_t first = 0;
  uint32_t second = 1;
  std::thread([&] { first = ThreadIndex(); }).join();
  std::thread([&] { second = ThreadIndex(); }).join();
  EXPECT_EQ(first, second);
}

// Otherwise a thread whose count hovers at a multiple would act at each addition, or never.
TEST(ShardedCounter, ANumberThatComesAndGoesStillCountsItsAdditions) {
  ShardedCounter counter;
  for (uint64_t i = 1; i <= 100; ++i) {
    EXPECT_EQ(counter.Add(1), i);
    counter.Subtract(1);
  }
  EXPECT_EQ(counter.Sum(), 0);
}

TEST(ShardedCounter, GoesUpAndDownAcrossThreads) {
  ShardedCounter counter;
  counter.Add(5);
  std::thread([&] { counter.Subtract(7); }).join();
  EXPECT_EQ(counter.Sum(), -2);
}

}  // namespace
}  // namespace nfswalk::rcu
