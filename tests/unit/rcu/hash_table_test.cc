#include "rcu/hash_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <latch>
#include <set>
#include <thread>

#include "rcu/page_region.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"

namespace nfswalk::rcu {
namespace {

struct Node {
  explicit Node(uint64_t key_in, uint64_t hash_in) : key(key_in), hash(hash_in) {}
  const uint64_t key;
  std::atomic<Node*> next{nullptr};
  std::atomic<uint64_t> hash;
};
struct Traits {
  static std::atomic<Node*>& Next(Node& node) { return node.next; }
  static uint64_t Hash(const Node& node) { return node.hash.load(std::memory_order_relaxed); }
};
using Table = HashTable<Node, Traits>;

// Mixed above the low byte, which holds a length as in names.
uint64_t HashOf(uint64_t key) {
  uint64_t x = (key + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  return ((x ^ (x >> 32)) & ~uint64_t{0xff}) | 5;
}

class HashTableTest : public testing::Test {
 protected:
  Node& Add(Table& table, uint64_t key) { return AddWithHash(table, key, HashOf(key)); }
  Node& AddWithHash(Table& table, uint64_t key, uint64_t hash) {
    Node& node = nodes_.emplace_back(key, hash);
    Table::Chain chain = table.Lock(hash);
    chain.Insert(&node);
    return node;
  }
  static Node* Find(const Table& table, uint64_t key, uint64_t hash) {
    ReadGuard reader;
    return table.FindRcu(hash, [key](const Node& node) { return node.key == key; });
  }
  static Node* Find(const Table& table, uint64_t key) { return Find(table, key, HashOf(key)); }
  static Node* FindLocked(Table& table, uint64_t key) {
    Table::Chain chain = table.Lock(HashOf(key));
    return chain.Find(HashOf(key), [key](const Node& node) { return node.key == key; });
  }

  std::deque<Node> nodes_;
};

TEST_F(HashTableTest, FindsWhatWasInsertedAndNothingElse) {
  Table table;
  Node& node = Add(table, 1);
  EXPECT_EQ(Find(table, 1), &node);
  EXPECT_EQ(FindLocked(table, 1), &node);
  EXPECT_EQ(Find(table, 2), nullptr);
  EXPECT_EQ(FindLocked(table, 2), nullptr);
}

TEST_F(HashTableTest, ARemovedNodeIsGoneAndKeepsItsNext) {
  Table table(2, /*max_load=*/1000);
  Node& older = AddWithHash(table, 1, 0x105);
  Node& newer = AddWithHash(table, 2, 0x205);
  {
    Table::Chain chain = table.Lock(0x205);
    chain.Remove(&newer);
  }
  EXPECT_EQ(Find(table, 2, 0x205), nullptr);
  EXPECT_EQ(Find(table, 1, 0x105), &older);
  EXPECT_EQ(newer.next.load(), &older);
  EXPECT_EQ(table.size(), 1u);
}

TEST_F(HashTableTest, MatchDecidesAmongNodesOfOneHashAndSeesNoOthers) {
  Table table(2, /*max_load=*/1000);
  AddWithHash(table, 1, 0x105);
  Node& wanted = AddWithHash(table, 2, 0x105);
  AddWithHash(table, 3, 0x305);
  int asked = 0;
  ReadGuard reader;
  Node* const found = table.FindRcu(0x105, [&](const Node& node) {
    ++asked;
    return node.key == 1;
  });
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->key, 1u);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(table.FindRcu(0x105, [](const Node& node) { return node.key == 2; }), &wanted);
}

TEST_F(HashTableTest, GrowsWithItsLoadAndStillFindsAll) {
  Table table(16);
  constexpr uint64_t kKeys = 20'000;
  for (uint64_t key = 0; key < kKeys; ++key) {
    Add(table, key);
    // Every node so far is found at every stage of every growth.
    if (key % 997 == 0) {
      for (uint64_t k = 0; k <= key; ++k) ASSERT_NE(Find(table, k), nullptr) << k << " of " << key;
    }
  }
  EXPECT_EQ(table.size(), kKeys);
  EXPECT_GE(table.bucket_count(), kKeys / 2);
  EXPECT_LE(table.bucket_count(), 4 * kKeys);
  for (uint64_t key = 0; key < kKeys; ++key) ASSERT_NE(FindLocked(table, key), nullptr);
}

TEST_F(HashTableTest, AGrowthEndsLongBeforeTheNextIsDue) {
  Table table(1024);
  uint64_t key = 0;
  while (!table.growing()) Add(table, key++);
  const uint64_t begun = key;
  while (table.growing()) Add(table, key++);
  EXPECT_LE(key - begun, 1024u / 2);
}

TEST_F(HashTableTest, StaysAsItIsBelowTheLoadLimit) {
  Table table(16, /*max_load=*/1000);
  for (uint64_t key = 0; key < 10'000; ++key) Add(table, key);
  EXPECT_EQ(table.bucket_count(), 16u);
}

TEST_F(HashTableTest, SpreadsSequentialKeysEvenly) {
  Table table(1024, /*max_load=*/1000);
  for (uint64_t key = 0; key < 8192; ++key) Add(table, key);
  size_t walked = 0;
  for (uint64_t key = 0; key < 8192; ++key) {
    Table::Chain chain = table.Lock(HashOf(key));
    chain.Find([&walked](const Node&) {
      ++walked;
      return false;
    });
  }
  // A uniform hash gives 1 + load nodes in the bucket of a present key: 9 here.
  EXPECT_LT(walked / 8192, 11u);
}

TEST_F(HashTableTest, ANodeMovesBetweenHashesUnderTwoChains) {
  Table table(64);
  for (uint64_t key = 0; key < 200; ++key) {
    Node& node = Add(table, key);
    const uint64_t from = HashOf(key);
    const uint64_t to = HashOf(key + 1'000'000);
    {
      Table::TwoChains chains = table.LockTwo(from, to);
      chains.ForFirst().Remove(&node);
      node.hash.store(to, std::memory_order_relaxed);
      chains.ForSecond().Insert(&node);
    }
    ASSERT_EQ(Find(table, key, from), nullptr);
    ASSERT_EQ(Find(table, key, to), &node);
  }
  EXPECT_EQ(table.size(), 200u);
}

TEST_F(HashTableTest, LockTwoOfOneBucketLocksItOnce) {
  Table table(2);
  Table::TwoChains chains = table.LockTwo(0x105, 0x205);
  EXPECT_EQ(&chains.ForFirst(), &chains.ForSecond());
}

TEST_F(HashTableTest, VisitingInOrderMeetsEveryNodeOnceInTheMiddleOfAGrowth) {
  Table table(16);
  uint64_t key = 0;
  while (key < 1000 || !table.growing()) Add(table, key++);  // in the middle of a growth
  std::multiset<uint64_t> seen;
  uint64_t hash = 0;
  do {
    hash = table.VisitInOrder(
        hash, [&seen](const Node& node) { seen.insert(node.key); }, [] { return true; });
  } while (hash != 0);
  EXPECT_EQ(seen.size(), key);
  EXPECT_EQ(std::set<uint64_t>(seen.begin(), seen.end()).size(), key);
}

TEST_F(HashTableTest, OldTablesAreHandedBack) {
  Barrier();  // what earlier tests left
  const size_t before = PageRegion::mapped_bytes();
  {
    Table table(16);
    for (uint64_t key = 0; key < 50'000; ++key) Add(table, key);
    Barrier();
    while (table.growing()) Add(table, nodes_.size());
    Barrier();
    const size_t head_bytes = kRealChainLock ? 16 : 8;
    EXPECT_LE(PageRegion::mapped_bytes() - before, table.bucket_count() * head_bytes + 8192);
  }
  EXPECT_EQ(PageRegion::mapped_bytes(), before);
}

#ifndef NFSWALK_TSAN
TEST_F(HashTableTest, ALookupStoresNothingInTheTable) {
  Table table(16);
  uint64_t key = 0;
  while (key < 1000 || !table.growing()) Add(table, key++);
  PageRegion::FreezeAll();
  size_t found = 0;
  for (uint64_t k = 0; k < key; ++k) found += Find(table, k) != nullptr ? 1 : 0;
  const Node* const absent = Find(table, key + 1);
  PageRegion::ThawAll();
  EXPECT_EQ(found, key);
  EXPECT_EQ(absent, nullptr);
}
#endif

#ifndef NDEBUG
// The reader stops on a node of a bucket; the bucket moves under it; it goes on.
TEST_F(HashTableTest, AReaderWhoseBucketMovesUnderItEndsAndThenFindsTheNode) {
  Table table(2);
  AddWithHash(table, 1, 0x105);
  Node& wanted = AddWithHash(table, 2, 0x205);
  AddWithHash(table, 3, 0x305);
  std::latch standing(1);
  std::latch moved(1);
  Node* second_try = nullptr;
  std::jthread reader([&] {
    ReadGuard guard;
    bool first_time = true;
    table.FindRcu(0x305, [&](const Node&) {
      if (std::exchange(first_time, false)) {
        standing.count_down();
        moved.wait();
      }
      return false;  // walk to the end
    });
    second_try = table.FindRcu(0x205, [](const Node& node) { return node.key == 2; });
  });
  standing.wait();
  uint64_t key = 10;
  while (table.bucket_count() == 2 || table.growing()) Add(table, key++);
  moved.count_down();
  reader.join();
  EXPECT_EQ(second_try, &wanted);
}

TEST_F(HashTableTest, ALockerThatWaitedForAMovingBucketGetsTheNewOne) {
  Table table(2);
  Node& node = AddWithHash(table, 1, 0x105);
  std::latch moving(1);
  std::atomic<bool> asked{false};
  bool first_time = true;
  SyncPointScript::OnReach("hash_table:node-moved", [&] {
    if (!std::exchange(first_time, false)) return;
    moving.count_down();
    while (!asked.load()) std::this_thread::yield();
    // Far more turns than the locker needs to get from there to the locked head.
    for (int i = 0; i < 2000; ++i) std::this_thread::yield();
  });
  Node* found = nullptr;
  std::jthread locker([&] {
    moving.wait();
    asked.store(true);
    Table::Chain chain = table.Lock(0x105);
    found = chain.Find(0x105, [](const Node& n) { return n.key == 1; });
  });
  for (uint64_t key = 10; table.bucket_count() == 2 || table.growing(); ++key) Add(table, key);
  locker.join();
  SyncPointScript::ClearAll();
  EXPECT_EQ(found, &node);
}
#endif

}  // namespace
}  // namespace nfswalk::rcu
