#include "rcu/lfht_table.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <latch>
#include <thread>
#include <vector>

#include "rcu/defer.h"
#include "rcu/mix64.h"
#include "rcu/read_guard.h"

namespace nfswalk::rcu {
namespace {

struct Node {
  explicit Node(uint64_t key_in) : key(key_in) {}
  cds_lfht_node link;
  const uint64_t key;
};
struct Traits {
  static cds_lfht_node& Link(Node& node) { return node.link; }
  static Node& FromLink(cds_lfht_node& link) {
    return *reinterpret_cast<Node*>(reinterpret_cast<char*>(&link) - offsetof(Node, link));
  }
};
using Table = LfhtTable<Node, Traits>;

uint64_t HashOf(uint64_t key) { return Mix64(key + 1) | 1; }

auto IsKey(uint64_t key) {
  return [key](const Node& node) { return node.key == key; };
}

class LfhtTableTest : public testing::Test {
 protected:
  ~LfhtTableTest() override {
    for (Node* node : added_) Remove(*node);
    Synchronize();
  }
  // Returns the node of this key, added if there was none.
  Node& Add(uint64_t key, uint64_t hash) {
    Node& fresh = nodes_.emplace_back(key);
    ReadGuard guard;
    Node* const there = table_.AddUnique(hash, IsKey(key), &fresh);
    if (there != nullptr) return *there;
    added_.push_back(&fresh);
    return fresh;
  }
  Node& Add(uint64_t key) { return Add(key, HashOf(key)); }
  void Remove(Node& node) {
    ReadGuard guard;
    auto chain = table_.Lock(HashOf(node.key));
    chain.Remove(&node);
  }
  void Drop(Node& node) {
    Remove(node);
    std::erase(added_, &node);
  }
  Node* Find(uint64_t key, uint64_t hash) {
    ReadGuard guard;
    return table_.FindRcu(hash, IsKey(key));
  }
  Node* Find(uint64_t key) { return Find(key, HashOf(key)); }

  Table table_{4};
  std::deque<Node> nodes_;
  std::vector<Node*> added_;
};

TEST_F(LfhtTableTest, FindsWhatWasAddedAndTheFirstOfEqualNodesStays) {
  Node& node = Add(1);
  EXPECT_EQ(&Add(1), &node);
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(Find(1), &node);
  EXPECT_EQ(Find(2), nullptr);
  ReadGuard guard;
  auto chain = table_.Lock(HashOf(1));
  EXPECT_EQ(chain.Find(HashOf(1), IsKey(1)), &node);
}

TEST_F(LfhtTableTest, MatchDecidesAmongNodesOfOneHash) {
  Node& one = Add(1, HashOf(1));
  Node& two = Add(2, HashOf(1));
  EXPECT_NE(&one, &two);
  EXPECT_EQ(Find(1, HashOf(1)), &one);
  EXPECT_EQ(Find(2, HashOf(1)), &two);
  EXPECT_EQ(Find(3, HashOf(1)), nullptr);
}

TEST_F(LfhtTableTest, ARemovedNodeIsGoneAndItsKeyFree) {
  Node& old = Add(1);
  Drop(old);
  EXPECT_EQ(Find(1), nullptr);
  Node& fresh = Add(1);
  EXPECT_NE(&fresh, &old);
  EXPECT_EQ(Find(1), &fresh);
}

TEST_F(LfhtTableTest, ANodeThatDoesNotMatchAnyMoreStandsInNobodysWay) {
  Node& dying = Add(1);
  Node fresh(1);
  ReadGuard guard;
  const auto alive = [&](const Node& node) { return &node != &dying && node.key == 1; };
  EXPECT_EQ(table_.AddUnique(HashOf(1), alive, &fresh), nullptr);
  EXPECT_EQ(table_.FindRcu(HashOf(1), alive), &fresh);
  auto chain = table_.Lock(HashOf(1));
  chain.Remove(&fresh);
}

TEST_F(LfhtTableTest, FindsAllOfManyWhileTheTableGrows) {
  constexpr uint64_t kKeys = 20'000;
  for (uint64_t key = 0; key < kKeys; ++key) {
    Add(key);
    if (key % 997 != 0) continue;
    for (uint64_t k = 0; k <= key; ++k) ASSERT_NE(Find(k), nullptr) << k << " of " << key;
  }
  EXPECT_EQ(table_.size(), kKeys);
}

TEST_F(LfhtTableTest, OneOfTwoThreadsThatAddAKeyWins) {
  constexpr uint64_t kKeys = 2000;
  std::deque<Node> nodes[2];
  uint64_t won[2] = {0, 0};
  std::latch start(2);
  const auto add_all = [&](int self) {
    start.arrive_and_wait();
    for (uint64_t key = 0; key < kKeys; ++key) {
      Node& fresh = nodes[self].emplace_back(key);
      ReadGuard guard;
      if (table_.AddUnique(HashOf(key), IsKey(key), &fresh) == nullptr) ++won[self];
    }
  };
  {
    std::jthread one(add_all, 0), other(add_all, 1);
  }
  EXPECT_EQ(won[0] + won[1], kKeys);
  EXPECT_EQ(table_.size(), kKeys);
  for (uint64_t key = 0; key < kKeys; ++key) Remove(*Find(key));
  Synchronize();
}

}  // namespace
}  // namespace nfswalk::rcu
