#include "rcu/chain_locks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

namespace nfswalk::rcu {
namespace {

struct Node {
  std::atomic<Node*> next{nullptr};
};
struct Traits {
  static std::atomic<Node*>& Next(Node& node) { return node.next; }
};

constexpr uint64_t kTop = uint64_t{1} << 63;
using StripedHead = StripedLocks::Head<Node, Traits>;

TEST(ChainLocksTest, EveryChainHasALockOfItsOwn) {
  ChainLocks<false> locks;
  ChainLocks<false>::Head<Node, Traits> one, other;
  locks.Lock(one, 1);
  EXPECT_FALSE(locks.TryLock(one, 1));
  EXPECT_TRUE(locks.TryLock(other, 1));
  locks.Unlock(other, 1);
  locks.Unlock(one, 1);
  EXPECT_TRUE(locks.TryLock(one, 1));
  locks.Unlock(one, 1);
}

// INODE-14.
TEST(ChainLocksTest, ALockInBitZeroCostsNoMemoryAndARealOneAWord) {
  EXPECT_EQ(sizeof(ChainLocks<false>::Head<Node, Traits>), 8u);
  EXPECT_EQ(sizeof(ChainLocks<true>::Head<Node, Traits>), 16u);
  EXPECT_EQ(sizeof(StripedHead), 8u);
}

TEST(StripedLocksTest, TheNumberOfLocksIsRoundedUpToAPowerOfTwo) {
  EXPECT_EQ(StripedLocks(1).size(), 1u);
  EXPECT_EQ(StripedLocks(2).size(), 2u);
  EXPECT_EQ(StripedLocks(33).size(), 64u);
}

TEST(StripedLocksTest, OneLockIsForAllHashes) {
  const StripedLocks locks(1);
  EXPECT_TRUE(locks.SameLock(0, ~uint64_t{0}));
}

TEST(StripedLocksTest, EveryLockIsForAnEqualRangeOfHashes) {
  const StripedLocks locks(4);
  constexpr uint64_t kRange = uint64_t{1} << 62;
  for (uint64_t stripe = 0; stripe < 4; ++stripe) {
    const uint64_t first = stripe * kRange;
    EXPECT_TRUE(locks.SameLock(first, first + kRange - 1)) << stripe;
    if (stripe < 3) {
      EXPECT_FALSE(locks.SameLock(first, first + kRange)) << stripe;
    }
  }
}

TEST(StripedLocksTest, TheLockFollowsTheHashWhateverTheHead) {
  StripedLocks locks(2);
  StripedHead one, other;
  locks.Lock(one, kTop);
  EXPECT_FALSE(locks.TryLock(other, kTop | 5));
  EXPECT_TRUE(locks.TryLock(one, 5));
  locks.Unlock(one, 5);
  locks.Unlock(other, kTop);
}

TEST(StripedLocksTest, AcquisitionsAreSummedAndThoseOfTheHottestTold) {
  StripedLocks locks(2);
  StripedHead head;
  const auto take = [&](uint64_t hash) {
    locks.Lock(head, hash);
    locks.Unlock(head, hash);
  };
  take(1);
  for (int i = 0; i < 3; ++i) take(kTop);
  EXPECT_EQ(locks.acquisitions(), 4u);
  EXPECT_EQ(locks.acquisitions_of_hottest(), 3u);
}

#ifndef NDEBUG
TEST(ChainLocksDeathTest, ALockThatIsNotHeldIsToldFromOneThatIs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  StripedLocks striped(2);
  StripedHead striped_head;
  striped.Lock(striped_head, 1);
  striped.AssertHeld(striped_head, 2);
  EXPECT_DEATH(striped.AssertHeld(striped_head, kTop), "a lock that must be held is not");
  striped.Unlock(striped_head, 1);
  ChainLocks<false> bits;
  ChainLocks<false>::Head<Node, Traits> head;
  EXPECT_DEATH(bits.AssertHeld(head, 1), "a lock that must be held is not");
  bits.Lock(head, 1);
  bits.AssertHeld(head, 1);
  bits.Unlock(head, 1);
}
#endif

}  // namespace
}  // namespace nfswalk::rcu
