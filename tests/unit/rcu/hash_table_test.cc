#include "rcu/hash_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <latch>
#include <set>
#include <string>
#include <thread>

#include "rcu/chain_locks.h"
#include "rcu/mix64.h"
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
// Groups of eight buckets.
struct SlotTraits : Traits {
  static constexpr int kSlotBits = 3;
};

// The tables under test: their locks, and how buckets are chosen.
template <class NodeTraits, class Locks, size_t... kLocks>
struct Kind {
  using Table = HashTable<Node, NodeTraits, Locks>;
  using Head = typename Locks::template Head<Node, NodeTraits>;
  static constexpr bool kSharedLocks = Locks::kShared;
  static Table Make(size_t buckets, size_t max_load) { return Table(buckets, max_load, kLocks...); }
};
using Kinds = testing::Types<Kind<Traits, ChainLocks<false>>, Kind<Traits, ChainLocks<true>>,
                             Kind<Traits, StripedLocks, 1>, Kind<Traits, StripedLocks, 8>,
                             Kind<SlotTraits, ChainLocks<true>>, Kind<SlotTraits, StripedLocks, 8>>;
struct KindName {
  template <class>
  static std::string GetName(int i) {
    static constexpr const char* kNames[] = {
        "BitLocks", "RealLocks", "OneLock", "StripedLocks", "RealLocksAndSlots", "StripesAndSlots"};
    return kNames[i];
  }
};

// Mixed above the low byte, which holds a length as in names, and for slots in bits 1 to 3.
uint64_t HashOf(uint64_t key) {
  const uint64_t x = Mix64(key + 1);
  return (x & ~uint64_t{0xff}) | (x & 7) << 1 | 1;
}

template <class KindUnderTest>
class HashTableTest : public testing::Test {
 protected:
  using Table = typename KindUnderTest::Table;

  static Table Make(size_t buckets = 1024, size_t max_load = 1) {
    return KindUnderTest::Make(buckets, max_load);
  }
  Node& Add(Table& table, uint64_t key) { return AddWithHash(table, key, HashOf(key)); }
  Node& AddWithHash(Table& table, uint64_t key, uint64_t hash) {
    Node& node = nodes_.emplace_back(key, hash);
    auto chain = table.Lock(hash);
    chain.Insert(&node);
    return node;
  }
  static Node* Find(const Table& table, uint64_t key, uint64_t hash) {
    ReadGuard reader;
    return table.FindRcu(hash, [key](const Node& node) { return node.key == key; });
  }
  static Node* Find(const Table& table, uint64_t key) { return Find(table, key, HashOf(key)); }
  static Node* FindLocked(Table& table, uint64_t key) {
    auto chain = table.Lock(HashOf(key));
    return chain.Find(HashOf(key), [key](const Node& node) { return node.key == key; });
  }
  // Adds keys until the table is growing, and is at most half done. Returns their number.
  uint64_t FillIntoTheMiddleOfAGrowth(Table& table) {
    uint64_t key = 0;
    while (key < 1000 || !table.growing()) Add(table, key++);
    return key;
  }

  // Visits all of the table; `between` is called after each call of VisitInOrder(). Returns how
  // often each key was met.
  static std::multiset<uint64_t> VisitAll(
      Table& table, bool more, const std::function<void()>& between = [] {}) {
    std::multiset<uint64_t> seen;
    uint64_t hash = 0;
    do {
      hash = table.VisitInOrder(
          hash, [&](const Node& node) { seen.insert(node.key); }, [more] { return more; });
      between();
    } while (hash != 0);
    return seen;
  }

  std::deque<Node> nodes_;
};
TYPED_TEST_SUITE(HashTableTest, Kinds, KindName);

template <class KindUnderTest>
class HashTableOfChainLocksTest : public HashTableTest<KindUnderTest> {};
using ChainLockKinds =
    testing::Types<Kind<Traits, ChainLocks<false>>, Kind<Traits, ChainLocks<true>>>;
TYPED_TEST_SUITE(HashTableOfChainLocksTest, ChainLockKinds, KindName);

TYPED_TEST(HashTableTest, FindsWhatWasInsertedAndNothingElse) {
  auto table = this->Make();
  Node& node = this->Add(table, 1);
  EXPECT_EQ(this->Find(table, 1), &node);
  EXPECT_EQ(this->FindLocked(table, 1), &node);
  EXPECT_EQ(this->Find(table, 2), nullptr);
  EXPECT_EQ(this->FindLocked(table, 2), nullptr);
}

TYPED_TEST(HashTableTest, ARemovedNodeIsGoneAndKeepsItsNext) {
  auto table = this->Make(2, /*max_load=*/1000);
  Node& older = this->AddWithHash(table, 1, 0x105);
  Node& newer = this->AddWithHash(table, 2, 0x205);
  {
    auto chain = table.Lock(0x205);
    chain.Remove(&newer);
  }
  EXPECT_EQ(this->Find(table, 2, 0x205), nullptr);
  EXPECT_EQ(this->Find(table, 1, 0x105), &older);
  EXPECT_EQ(newer.next.load(), &older);
  EXPECT_EQ(table.size(), 1u);
}

TYPED_TEST(HashTableTest, MatchDecidesAmongNodesOfOneHashAndSeesNoOthers) {
  auto table = this->Make(2, /*max_load=*/1000);
  this->AddWithHash(table, 1, 0x105);
  Node& wanted = this->AddWithHash(table, 2, 0x105);
  this->AddWithHash(table, 3, 0x305);
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

TYPED_TEST(HashTableTest, GrowsWithItsLoadAndStillFindsAll) {
  auto table = this->Make(16);
  constexpr uint64_t kKeys = 20'000;
  for (uint64_t key = 0; key < kKeys; ++key) {
    this->Add(table, key);
    // Every node so far is found at every stage of each growth.
    if (key % 997 == 0) {
      for (uint64_t k = 0; k <= key; ++k)
        ASSERT_NE(this->Find(table, k), nullptr) << k << " of " << key;
    }
  }
  EXPECT_EQ(table.size(), kKeys);
  EXPECT_GE(table.bucket_count(), kKeys / 2);
  EXPECT_LE(table.bucket_count(), 4 * kKeys);
  for (uint64_t key = 0; key < kKeys; ++key) ASSERT_NE(this->FindLocked(table, key), nullptr);
}

TYPED_TEST(HashTableTest, AGrowthEndsLongBeforeTheNextIsDue) {
  auto table = this->Make(1024);
  uint64_t key = 0;
  while (!table.growing()) this->Add(table, key++);
  const uint64_t begun = key;
  while (table.growing()) this->Add(table, key++);
  EXPECT_LE(key - begun, 1024u / 2);
}

TYPED_TEST(HashTableTest, StaysAsItIsBelowTheLoadLimit) {
  auto table = this->Make(16, /*max_load=*/1000);
  const size_t buckets = table.bucket_count();
  for (uint64_t key = 0; key < 10'000; ++key) this->Add(table, key);
  EXPECT_EQ(table.bucket_count(), buckets);
}

TYPED_TEST(HashTableTest, SpreadsSequentialKeysEvenly) {
  auto table = this->Make(1024, /*max_load=*/1000);
  for (uint64_t key = 0; key < 8192; ++key) this->Add(table, key);
  size_t walked = 0;
  for (uint64_t key = 0; key < 8192; ++key) {
    auto chain = table.Lock(HashOf(key));
    chain.Find([&walked](const Node&) {
      ++walked;
      return false;
    });
  }
  // A uniform hash gives 1 + load nodes in the bucket of a present key: 9 here.
  EXPECT_LT(walked / 8192, 11u);
}

TYPED_TEST(HashTableOfChainLocksTest, ANodeMovesBetweenHashesUnderTwoChains) {
  auto table = this->Make(64);
  for (uint64_t key = 0; key < 200; ++key) {
    Node& node = this->Add(table, key);
    const uint64_t from = HashOf(key);
    const uint64_t to = HashOf(key + 1'000'000);
    {
      auto chains = table.LockTwo(from, to);
      chains.ForFirst().Remove(&node);
      node.hash.store(to, std::memory_order_relaxed);
      chains.ForSecond().Insert(&node);
    }
    ASSERT_EQ(this->Find(table, key, from), nullptr);
    ASSERT_EQ(this->Find(table, key, to), &node);
  }
  EXPECT_EQ(table.size(), 200u);
}

TYPED_TEST(HashTableOfChainLocksTest, LockTwoOfOneBucketLocksItOnce) {
  auto table = this->Make(2);
  auto chains = table.LockTwo(0x105, 0x205);
  EXPECT_EQ(&chains.ForFirst(), &chains.ForSecond());
}

TYPED_TEST(HashTableTest, VisitingInOrderMeetsEveryNodeOnceInTheMiddleOfAGrowth) {
  auto table = this->Make(16);
  const uint64_t key = this->FillIntoTheMiddleOfAGrowth(table);
  const auto seen = this->VisitAll(table, /*more=*/true);
  EXPECT_EQ(seen.size(), key);
  EXPECT_EQ(std::set<uint64_t>(seen.begin(), seen.end()).size(), key);
}

TYPED_TEST(HashTableTest, VisitingInOrderMeetsEveryNodeOnceWhileTheTableGrowsUnderIt) {
  auto table = this->Make(2);
  constexpr uint64_t kLasting = 500;
  for (uint64_t key = 0; key < kLasting; ++key) this->Add(table, key);
  const size_t buckets = table.bucket_count();
  uint64_t next_key = kLasting;
  const auto seen = this->VisitAll(table, /*more=*/false, [&] {
    for (int i = 0; i < 10 && next_key < 5000; ++i) this->Add(table, next_key++);
  });
  EXPECT_GE(table.bucket_count(), 2 * buckets);
  for (uint64_t key = 0; key < kLasting; ++key) ASSERT_EQ(seen.count(key), 1u) << key;
  for (const uint64_t key : seen) ASSERT_EQ(seen.count(key), 1u) << key;
}

TYPED_TEST(HashTableTest, AVisitGoesOnToTheNextBucketIfThatSharesTheLockAndMoreIsWanted) {
  auto table = this->Make(512, /*max_load=*/1000);
  for (uint64_t key = 0; key < 1000; ++key) this->Add(table, key);
  const auto visits = [&](bool more) {
    size_t count = 0;
    this->VisitAll(table, more, [&] { ++count; });
    return count;
  };
  EXPECT_EQ(visits(false), table.bucket_count());
  if (TypeParam::kSharedLocks) {
    EXPECT_LT(visits(true), table.bucket_count());
  } else {
    EXPECT_EQ(visits(true), table.bucket_count());
  }
}

TYPED_TEST(HashTableTest, NoTwoLocksGuardOneBucketHoweverSmallTheTable) {
  auto table = this->Make(1);
  EXPECT_GE(table.bucket_count(), std::max<size_t>(2, table.locks().size()));
}

TYPED_TEST(HashTableTest, OldTablesAreHandedBack) {
  Barrier();  // frees what earlier tests left
  const size_t before = PageRegion::mapped_bytes();
  {
    auto table = this->Make(16);
    for (uint64_t key = 0; key < 50'000; ++key) this->Add(table, key);
    Barrier();
    while (table.growing()) this->Add(table, this->nodes_.size());
    Barrier();
    EXPECT_LE(PageRegion::mapped_bytes() - before,
              table.bucket_count() * sizeof(typename TypeParam::Head) + 8192);
  }
  EXPECT_EQ(PageRegion::mapped_bytes(), before);
}

#ifndef NFSWALK_TSAN
TYPED_TEST(HashTableTest, ALookupStoresNothingInTheTable) {
  auto table = this->Make(16);
  const uint64_t key = this->FillIntoTheMiddleOfAGrowth(table);
  PageRegion::FreezeAll();
  size_t found = 0;
  for (uint64_t k = 0; k < key; ++k) found += this->Find(table, k) != nullptr ? 1 : 0;
  const Node* const absent = this->Find(table, key + 1);
  PageRegion::ThawAll();
  EXPECT_EQ(found, key);
  EXPECT_EQ(absent, nullptr);
}
#endif

#ifndef NDEBUG
template <class KindUnderTest>
class HashTableDeathTest : public HashTableTest<KindUnderTest> {
 protected:
  HashTableDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
TYPED_TEST_SUITE(HashTableDeathTest, Kinds, KindName);

TYPED_TEST(HashTableDeathTest, AChainIsNotUsedByAThreadThatHasNotLockedIt) {
  auto table = this->Make();
  Node& node = this->AddWithHash(table, 1, 0x105);
  auto chain = table.Lock(0x105);
  const auto elsewhere = [](auto&& use) { std::jthread(use).join(); };
  EXPECT_DEATH(elsewhere([&] { chain.Find(0x105, [](const Node&) { return true; }); }),
               "a lock that must be held is not");
  EXPECT_DEATH(elsewhere([&] { chain.Insert(&node); }), "a lock that must be held is not");
  EXPECT_DEATH(elsewhere([&] { chain.Remove(&node); }), "a lock that must be held is not");
}

TYPED_TEST(HashTableDeathTest, AChainIsNotUsedOnceItIsUnlocked) {
  auto table = this->Make();
  Node& node = this->AddWithHash(table, 1, 0x105);
  auto chain = table.Lock(0x105);
  chain.Unlock();
  EXPECT_DEATH(chain.Insert(&node), "head_ != nullptr");
}

// A reader is at a node of a bucket that moves, and continues.
TYPED_TEST(HashTableTest, AReaderWhoseBucketMovesUnderItEndsAndThenFindsTheNode) {
  auto table = this->Make(2);
  const size_t buckets = table.bucket_count();
  this->AddWithHash(table, 1, 0x105);
  Node& wanted = this->AddWithHash(table, 2, 0x205);
  this->AddWithHash(table, 3, 0x305);
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
      return false;  // continues to the end
    });
    second_try = table.FindRcu(0x205, [](const Node& node) { return node.key == 2; });
  });
  standing.wait();
  uint64_t key = 10;
  while (table.bucket_count() == buckets || table.growing()) this->Add(table, key++);
  moved.count_down();
  reader.join();
  EXPECT_EQ(second_try, &wanted);
}

// Otherwise two moves in opposite directions deadlock.
TYPED_TEST(HashTableOfChainLocksTest, LockTwoLocksTheLowerHashFirst) {
  constexpr uint64_t kLow = 0x105, kHigh = ~uint64_t{0xff};
  auto table = this->Make(2);
  int reached = 0;
  SyncPointScript::OnReach("hash_table:first-of-two-locked", [&] {
    ++reached;
    std::jthread([&] { table.Lock(kHigh).Unlock(); }).join();
  });
  for (const auto& [first, second] : {std::pair(kLow, kHigh), std::pair(kHigh, kLow)}) {
    const auto chains = table.LockTwo(first, second);
  }
  SyncPointScript::ClearAll();
  EXPECT_EQ(reached, 2);
}

TYPED_TEST(HashTableTest, ALockerThatWaitedForAMovingBucketGetsTheNewOne) {
  auto table = this->Make(2);
  const size_t buckets = table.bucket_count();
  Node& node = this->AddWithHash(table, 1, 0x101);  // in the bucket that moves first
  std::latch moving(1);
  std::atomic<bool> asked{false}, locked{false};
  bool first_time = true;
  SyncPointScript::OnReach("hash_table:node-moved", [&] {
    if (!std::exchange(first_time, false)) return;
    moving.count_down();
    while (!asked.load()) std::this_thread::yield();
    // Far more yields than the locker needs from there to the locked head.
    for (int i = 0; i < 2000; ++i) std::this_thread::yield();
    EXPECT_FALSE(locked.load()) << "of a bucket that has moved in part";
  });
  Node* found = nullptr;
  std::jthread locker([&] {
    moving.wait();
    asked.store(true);
    auto chain = table.Lock(0x101);
    locked.store(true);
    found = chain.Find(0x101, [](const Node& n) { return n.key == 1; });
  });
  for (uint64_t key = 10; table.bucket_count() == buckets || table.growing(); ++key)
    this->Add(table, key);
  locker.join();
  SyncPointScript::ClearAll();
  EXPECT_EQ(found, &node);
}
#endif

}  // namespace
}  // namespace nfswalk::rcu
