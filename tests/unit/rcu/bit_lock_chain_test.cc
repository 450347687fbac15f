#include "rcu/bit_lock_chain.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

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

}  // namespace
}  // namespace nfswalk::rcu
