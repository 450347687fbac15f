// Find, insert, remove and move while the table grows.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "rcu/hash_table.h"
#include "rcu/mix64.h"
#include "rcu/object_pool.h"
#include "rcu/read_guard.h"

namespace nfswalk::rcu {
namespace {

struct alignas(64) Node {
  std::atomic<Node*> next{nullptr};
  std::atomic<uint64_t> hash{0};
  std::atomic<uint64_t> key{0};
};
struct Traits {
  static std::atomic<Node*>& Next(Node& node) { return node.next; }
  static uint64_t Hash(const Node& node) { return node.hash.load(std::memory_order_relaxed); }
};
using Table = HashTable<Node, Traits>;

uint64_t HashOf(uint64_t key) { return Mix64(key + 1) & ~uint64_t{0xff}; }

auto KeyIs(uint64_t key) {
  return [key](const Node& node) { return node.key.load(std::memory_order_relaxed) == key; };
}

class HashTableRace : public testing::Test {
 protected:
  Node* Insert(uint64_t key) {
    Node* const node = pool_.Allocate();
    node->key.store(key, std::memory_order_relaxed);
    node->hash.store(HashOf(key), std::memory_order_relaxed);
    Table::Chain chain = table_.Lock(HashOf(key));
    chain.Insert(node);
    return node;
  }
  void Remove(Node* node) {
    {
      Table::Chain chain = table_.Lock(Traits::Hash(*node));
      chain.Remove(node);
    }
    pool_.FreeDeferred(node);
  }
  bool InTable(uint64_t key) {
    Table::Chain chain = table_.Lock(HashOf(key));
    return chain.Find(HashOf(key), KeyIs(key)) != nullptr;
  }

  ObjectPool<Node> pool_;
  Table table_{2};
};

// INODE-14.
TEST_F(HashTableRace, NodesThatStayAreFoundAllThroughGrowthAndChurn) {
  constexpr uint64_t kStable = 64;
  constexpr uint64_t kChurnKeys = 20'000;  // doubles the table more than ten times
  std::vector<Node*> stable;
  for (uint64_t key = 0; key < kStable; ++key) stable.push_back(Insert(key));
  std::atomic<int> writers{2};
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> false_misses{0};

  std::latch all_run(4);

  const auto churn = [&](uint64_t base) {
    std::vector<Node*> mine;
    all_run.arrive_and_wait();
    for (uint64_t key = base; key < base + kChurnKeys; ++key) {
      mine.push_back(Insert(key));
      if (key % 3 != 0) continue;
      Remove(mine[mine.size() / 2]);
      mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(mine.size() / 2));
    }
    for (Node* node : mine) Remove(node);
    writers.fetch_sub(1);
  };
  const auto read = [&] {
    all_run.arrive_and_wait();
    for (uint64_t i = 0; writers.load(std::memory_order_relaxed) != 0; ++i) {
      const uint64_t key = i % kStable;
      bool found;
      {
        ReadGuard reader;
        Node* const node = table_.FindRcu(HashOf(key), KeyIs(key));
        found = node != nullptr;
        if (found) {
          ASSERT_EQ(node->key.load(std::memory_order_relaxed), key);
        }
      }
      (found ? hits : false_misses).fetch_add(1, std::memory_order_relaxed);
      if (!found) {
        ASSERT_TRUE(InTable(key)) << "a node that stays is missed under the lock";
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.emplace_back(churn, 1'000'000);
    threads.emplace_back(churn, 2'000'000);
    threads.emplace_back(read);
    threads.emplace_back(read);
  }
  EXPECT_EQ(table_.size(), kStable);
  // Holds even if the writers ran one after the other.
  EXPECT_GE(table_.bucket_count(), kChurnKeys / 2);
  EXPECT_GE(hits.load(), 1000u);
  EXPECT_LE(false_misses.load(), hits.load() / 10) << "misses belong to moving buckets only";
  for (Node* node : stable) Remove(node);
}

// Each thread owns its keys, and so their expected state.
TEST_F(HashTableRace, EveryThreadSeesItsOwnInsertionsAndRemovalsExactly) {
  constexpr uint64_t kKeys = 5'000;
  const auto own = [&](uint64_t base) {
    for (uint64_t key = base; key < base + kKeys; ++key) {
      ASSERT_FALSE(InTable(key));
      Node* const node = Insert(key);
      ASSERT_TRUE(InTable(key));
      if (key % 2 == 0) {
        Remove(node);
        ASSERT_FALSE(InTable(key));
      }
    }
    for (uint64_t key = base; key < base + kKeys; ++key) {
      Node* found;
      {
        Table::Chain chain = table_.Lock(HashOf(key));
        found = chain.Find(HashOf(key), KeyIs(key));
      }
      ASSERT_EQ(found != nullptr, key % 2 != 0);
      if (found != nullptr) Remove(found);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (uint64_t i = 1; i <= 3; ++i) threads.emplace_back(own, i * 1'000'000);
  }
  EXPECT_EQ(table_.size(), 0u);
}

// Opposite moves over the same pairs of buckets while the table grows neither deadlock nor lose a
// node.
TEST_F(HashTableRace, MovesInOppositeDirectionsUnderGrowthLoseNothing) {
  constexpr uint64_t kRounds = 10'000;
  const auto move = [&](uint64_t home, uint64_t away) {
    Node* const node = Insert(home);
    for (uint64_t i = 0; i < kRounds; ++i) {
      const uint64_t from = HashOf(i % 2 == 0 ? home : away);
      const uint64_t to = HashOf(i % 2 == 0 ? away : home);
      {
        Table::TwoChains chains = table_.LockTwo(from, to);
        ASSERT_EQ(chains.ForFirst().Find(from, KeyIs(home)), node);
        chains.ForFirst().Remove(node);
        node->hash.store(to, std::memory_order_relaxed);
        chains.ForSecond().Insert(node);
      }
      {
        ReadGuard reader;
        Node* const found = table_.FindRcu(to, KeyIs(home));
        ASSERT_TRUE(found == node || found == nullptr);
      }
    }
    Remove(node);
  };
  const auto grow = [&] {
    std::vector<Node*> mine;
    for (uint64_t key = 5'000'000; key < 5'020'000; ++key) mine.push_back(Insert(key));
    for (Node* node : mine) Remove(node);
  };
  {
    std::vector<std::jthread> threads;
    threads.emplace_back(move, 1, 2);
    threads.emplace_back(move, 2, 1);
    threads.emplace_back(move, 3, 1);
    threads.emplace_back(grow);
  }
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_GE(table_.bucket_count(), 10'000u);
}

}  // namespace
}  // namespace nfswalk::rcu
