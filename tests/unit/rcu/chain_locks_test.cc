#include "rcu/chain_locks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "rcu/bit_lock_chain.h"

namespace nfswalk::rcu {
namespace {

struct Node {
  std::atomic<Node*> next{nullptr};
};
struct Traits {
  static std::atomic<Node*>& Next(Node& node) { return node.next; }
};

template <class RealLock>
class BitLockChainTest : public testing::Test {
 protected:
  using Chain = BitLockChain<Node, Traits, RealLock::value>;

  std::vector<Node*> NodesSeenByAReader() const {
    std::vector<Node*> seen;
    for (Node* n = chain_.FirstRcu(); n != nullptr; n = Chain::NextRcu(*n)) seen.push_back(n);
    return seen;
  }

  Chain chain_;
  Node a_, b_, c_;
};
using BothForms = testing::Types<std::false_type, std::true_type>;
TYPED_TEST_SUITE(BitLockChainTest, BothForms);

TYPED_TEST(BitLockChainTest, ReadersSeeNodesNewestFirstAlsoWhileTheChainIsLocked) {
  std::lock_guard lock(this->chain_);
  this->chain_.InsertHead(&this->a_);
  this->chain_.InsertHead(&this->b_);
  EXPECT_EQ(this->NodesSeenByAReader(), (std::vector<Node*>{&this->b_, &this->a_}));
}

TYPED_TEST(BitLockChainTest, RemovalWorksAtEveryPlaceAndKeepsTheLock) {
  for (Node* victim : {&this->a_, &this->b_, &this->c_}) {
    typename TestFixture::Chain chain;
    std::lock_guard lock(chain);
    std::vector<Node*> left;
    for (Node* node : {&this->c_, &this->b_, &this->a_}) chain.InsertHead(node);
    chain.Remove(victim);
    for (Node* node = chain.First(); node != nullptr; node = chain.Next(*node)) {
      left.push_back(node);
    }
    EXPECT_EQ(left.size(), 2u);
    EXPECT_EQ(std::count(left.begin(), left.end(), victim), 0);
    bool got = true;
    std::thread([&] { got = chain.try_lock(); }).join();
    EXPECT_FALSE(got);
  }
}

TYPED_TEST(BitLockChainTest, AReaderOnARemovedNodeFindsItsWayOn) {
  std::lock_guard lock(this->chain_);
  for (Node* node : {&this->c_, &this->b_, &this->a_}) this->chain_.InsertHead(node);
  Node* const standing_on = this->chain_.FirstRcu();
  this->chain_.Remove(standing_on);
  EXPECT_EQ(TestFixture::Chain::NextRcu(*standing_on), &this->b_);
}

TYPED_TEST(BitLockChainTest, AMovedChainIsEmptyForReadersAndStaysLockedAndLockable) {
  {
    std::lock_guard lock(this->chain_);
    this->chain_.InsertHead(&this->a_);
    EXPECT_FALSE(this->chain_.moved());
    this->chain_.MarkMoved();
    bool got = true;
    std::thread([&] { got = this->chain_.try_lock(); }).join();
    EXPECT_FALSE(got);
  }
  EXPECT_TRUE(this->chain_.moved());
  EXPECT_EQ(this->chain_.FirstRcu(), nullptr);
  ASSERT_TRUE(this->chain_.try_lock());
  EXPECT_TRUE(this->chain_.moved());
  this->chain_.unlock();
}

TEST(BitLockChain, TheBitFormIsOnePointer) {
  EXPECT_EQ(sizeof(BitLockChain<Node, Traits, false>), sizeof(void*));
}

#ifdef NFSWALK_LOCK_ORDER
TYPED_TEST(BitLockChainTest, LockingASecondChainNeedsTheNestedForm) {
  typename TestFixture::Chain other;
  std::lock_guard lock(this->chain_);
  EXPECT_DEATH(other.lock(), "taken out of order: hash chain");
  other.LockNested();
  other.unlock();
}
#endif

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
