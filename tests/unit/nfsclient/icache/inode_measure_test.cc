// Machine-independent costs (INODE-20): lock acquisitions, chain lengths, bytes.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/icache/iget_family.h"
#include "rcu/cpu_index.h"
#include "rcu/defer.h"
#include "rcu/lock_order.h"
#include "rcu/page_region.h"
#include "tests/fixtures/inode_caches.h"

namespace nfswalk::icache {
namespace {

constexpr uint64_t kInodes = 1000;
// Large enough that no table grows: moving buckets takes locks too.
constexpr size_t kBucketsToSpare = 1 << 14;

// A file system that maintains an index of its own, whatever the cache's hash is.
class SelfIndexedOperations : public CountingOperations {
 public:
  using CountingOperations::CountingOperations;
  bool can_iterate() const override { return true; }
  std::errc IterInodes(const IterOptions&, const InodeVisitor&) override { return {}; }
  std::errc IterInodesUnsafe(const UnsafeInodeVisitor&) override { return {}; }
};

InodeCacheOptions WithoutGrowth(const InodePolicy& policy) {
  return {.policy = policy, .initial_buckets = kBucketsToSpare};
}

LockAcquisitions operator-(const LockAcquisitions& after, const LockAcquisitions& before) {
  return {after.global - before.global, after.sharded - before.sharded,
          after.hottest - before.hottest};
}

// INODE-20: the cost of a scan that instantiates, reads and drops each inode.
LockAcquisitions StreamInodes(const InodePolicy& policy) {
  const InodeCacheOptions options = WithoutGrowth(policy);
  SelfIndexedOperations operations(options);
  const auto cache = *IgetFamily::Create(options, operations);
  const LockAcquisitions before = cache->lock_acquisitions();
  for (uint64_t i = 1; i <= kInodes; ++i) {
    const uint64_t key = 64 * i;  // no neighbours, which may share a lock
    KeyIdentity identity(key);
    IgetResult found = cache->Iget5Rcu(cache->HashOf(key), identity);
    cache->UnlockNew(*found->inode);
    MarkDontCache(*found->inode);
  }
  EXPECT_EQ(operations.evicted, kInodes);
  return cache->lock_acquisitions() - before;
}

struct StreamCost {
  HashPolicy hash;
  ListPolicy list;
  uint64_t global;
  uint64_t sharded;
};

// Chain locks (H2 to H4) are neither global nor sharded; those of the file system's index are
// sharded.
constexpr StreamCost kStreamCosts[] = {
    {HashPolicy::kGlobal, ListPolicy::kSingle, 5, 0},
    {HashPolicy::kGlobal, ListPolicy::kSharded, 3, 2},
    {HashPolicy::kGlobal, ListPolicy::kNone, 3, 0},
    {HashPolicy::kGlobalRcu, ListPolicy::kSingle, 4, 0},
    {HashPolicy::kGlobalRcu, ListPolicy::kSharded, 2, 2},
    {HashPolicy::kGlobalRcu, ListPolicy::kNone, 2, 0},
    {HashPolicy::kBit, ListPolicy::kSingle, 2, 0},
    {HashPolicy::kBit, ListPolicy::kSharded, 0, 2},
    {HashPolicy::kBit, ListPolicy::kNone, 0, 0},
    {HashPolicy::kBitRcu, ListPolicy::kSingle, 2, 0},
    {HashPolicy::kBitRcu, ListPolicy::kSharded, 0, 2},
    {HashPolicy::kBitRcu, ListPolicy::kNone, 0, 0},
    {HashPolicy::kRealLock, ListPolicy::kSingle, 2, 0},
    {HashPolicy::kRealLock, ListPolicy::kSharded, 0, 2},
    {HashPolicy::kArray, ListPolicy::kSingle, 2, 3},
    {HashPolicy::kArray, ListPolicy::kSharded, 0, 5},
    {HashPolicy::kArrayRcu, ListPolicy::kSingle, 2, 2},
    {HashPolicy::kArrayRcu, ListPolicy::kSharded, 0, 4},
    {HashPolicy::kLfht, ListPolicy::kSingle, 2, 0},
    {HashPolicy::kLfht, ListPolicy::kSharded, 0, 2},
    {HashPolicy::kLfht, ListPolicy::kNone, 0, 0},
    {HashPolicy::kIndex, ListPolicy::kSingle, 2, 2},
    {HashPolicy::kIndex, ListPolicy::kSharded, 0, 4},
    {HashPolicy::kIndex, ListPolicy::kNone, 0, 2},
};

class StreamCostTest : public testing::TestWithParam<StreamCost> {};

INSTANTIATE_TEST_SUITE_P(Policies, StreamCostTest, testing::ValuesIn(kStreamCosts),
                         [](const testing::TestParamInfo<StreamCost>& info) {
                           return std::string(PolicyLabel(info.param.hash)) + "_" +
                                  std::string(PolicyLabel(info.param.list));
                         });

// INODE-20.
TEST_P(StreamCostTest, AStreamedInodeTakesExactlySoManyGlobalAndShardedLocks) {
  const auto& [hash, list, global, sharded] = GetParam();
  const auto expect_costs = [&](ListPolicy of_list) {
    for (const LruPolicy lru : {LruPolicy::kSingle, LruPolicy::kSharded}) {
      const LockAcquisitions taken = StreamInodes({hash, of_list, lru});
      EXPECT_EQ(taken.global, global * kInodes);
      EXPECT_EQ(taken.sharded, sharded * kInodes);
    }
  };
  expect_costs(list);
  if (list == ListPolicy::kSharded) expect_costs(ListPolicy::kGrouped);
}

// INODE-20: the most contended lock.
TEST(InodeMeasureTest, TheHottestLockIsTakenByEveryInodeIfItIsGlobalElseByFew) {
  const auto hottest_per_inode = [](HashPolicy hash, ListPolicy list) {
    return static_cast<double>(StreamInodes({hash, list, LruPolicy::kSharded}).hottest) / kInodes;
  };
  EXPECT_EQ(hottest_per_inode(HashPolicy::kGlobal, ListPolicy::kNone), 3);
  EXPECT_EQ(hottest_per_inode(HashPolicy::kGlobalRcu, ListPolicy::kNone), 2);
  EXPECT_EQ(hottest_per_inode(HashPolicy::kBitRcu, ListPolicy::kSingle), 2);
  // The mean of 32 and of 64 locks, times three for variance: file ids come in groups of 8.
  EXPECT_LT(hottest_per_inode(HashPolicy::kArray, ListPolicy::kNone), 4 * 3.0 / kArrayLocks);
  EXPECT_LT(hottest_per_inode(HashPolicy::kIndex, ListPolicy::kNone), 4 * 2.0 / 64);
}

// Returns how often two threads take the most-taken list lock, in units of what one of them takes:
// 2 if they share it. `one_cpu`, `other_cpu`: to which of BindableCpus() each is bound.
uint64_t ShareOfHottestList(ListPolicy list, size_t one_cpu, size_t other_cpu) {
  InodeCaches caches(WithoutGrowth({HashPolicy::kBitRcu, list, LruPolicy::kSharded}));
  const auto stream = [&](size_t cpu, uint64_t first) {
    BindToCpu(cpu);
    for (uint64_t key = first; key < first + kInodes; ++key) caches.Stream(key);
  };
  std::jthread one(stream, one_cpu, 1), other(stream, other_cpu, 1 + kInodes);
  one.join();
  other.join();
  EXPECT_EQ(caches.cache->lock_acquisitions().hottest % (2 * kInodes), 0u);
  return caches.cache->lock_acquisitions().hottest / (2 * kInodes);
}

TEST(InodeMeasureTest, ThreadsShareAListIfTheyShareTheProcessorOrItsGroup) {
  EXPECT_EQ(ShareOfHottestList(ListPolicy::kSingle, 0, 0), 2u);
  EXPECT_EQ(ShareOfHottestList(ListPolicy::kSharded, 0, 0), 2u);
  EXPECT_EQ(ShareOfHottestList(ListPolicy::kGrouped, 0, 0), 2u);
  const std::vector<uint32_t> cpus = BindableCpus();
  if (cpus.size() < 2) GTEST_SKIP() << "one processor";
  const std::vector<uint32_t> groups = rcu::CpuGroups(rcu::CpuCount(), kGroupCpusMax);
  EXPECT_EQ(ShareOfHottestList(ListPolicy::kSingle, 0, 1), 2u);
  EXPECT_EQ(ShareOfHottestList(ListPolicy::kSharded, 0, 1), 1u);
  EXPECT_EQ(ShareOfHottestList(ListPolicy::kGrouped, 0, 1),
            groups.at(cpus[0]) == groups.at(cpus[1]) ? 2u : 1u);
}

#ifdef NFSWALK_LOCK_ORDER
// Counts the calling thread's acquisitions of one class of locks in `operation`.
template <class Operation>
uint64_t Taken(rcu::LockClass lock_class, Operation&& operation) {
  const uint64_t before = rcu::ThreadLockCount(lock_class);
  for (uint64_t key = 1; key <= kInodes; ++key) operation(key);
  return rcu::ThreadLockCount(lock_class) - before;
}

// INODE-20 for single operations.
class OperationCostTest : public testing::TestWithParam<InodePolicy> {
 protected:
  template <class Operation>
  void ExpectCosts(uint64_t hash_locks, uint64_t list_locks, Operation&& operation) {
    uint64_t lists = 0;
    const uint64_t chains = Taken(rcu::LockClass::kHashChain, [&](uint64_t key) {
      const uint64_t before = rcu::ThreadLockCount(rcu::LockClass::kSuperblockList);
      operation(key);
      lists += rcu::ThreadLockCount(rcu::LockClass::kSuperblockList) - before;
    });
    EXPECT_EQ(chains, has_chain_locks_ ? hash_locks * kInodes : 0);
    EXPECT_EQ(lists, has_list_ ? list_locks * kInodes : 0);
  }
  IgetResult Iget5(uint64_t key) {
    KeyIdentity identity(key);
    return cache_.Iget5(cache_.HashOf(key), identity);
  }

  InodeCaches caches_{WithoutGrowth(GetParam())};
  IgetFamily& cache_ = *caches_.cache;
  const bool has_chain_locks_ = GetParam().hash != HashPolicy::kLfht;
  const bool has_list_ = GetParam().list != ListPolicy::kNone;
  const bool rcu_ = FirstLookupIsRcu(GetParam().hash);
};

INSTANTIATE_TEST_SUITE_P(Policies, OperationCostTest, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);

TEST_P(OperationCostTest, InstantiatingTakesOneHashLockUnderRcuElseTwo) {
  ExpectCosts(rcu_ ? 1 : 2, 1, [&](uint64_t key) { caches_.Get(key); });
}

TEST_P(OperationCostTest, InstantiatingWithALockedFirstLookupTakesTwoHashLocks) {
  ExpectCosts(2, 1, [&](uint64_t key) { cache_.UnlockNew(*Iget5(key)->inode); });
}

TEST_P(OperationCostTest, AWarmHitUnderRcuTakesNoHashLockElseOne) {
  for (uint64_t key = 1; key <= kInodes; ++key) caches_.Get(key);
  ExpectCosts(rcu_ ? 0 : 1, 0, [&](uint64_t key) { caches_.Get(key); });
  ExpectCosts(rcu_ ? 0 : 1, 0, [&](uint64_t key) { EXPECT_TRUE(cache_.Ilookup(key)); });
  ExpectCosts(rcu_ ? 0 : 1, 0, [&](uint64_t key) {
    EXPECT_TRUE(cache_.Ilookup5Rcu(cache_.HashOf(key), KeyIdentity(key)));
  });
  ExpectCosts(1, 0, [&](uint64_t key) { EXPECT_TRUE(caches_.Find(key)); });
  ExpectCosts(1, 0, [&](uint64_t key) { EXPECT_TRUE(Iget5(key)->inode); });
}

TEST_P(OperationCostTest, CreatingAFileTakesOneHashLock) {
  ExpectCosts(1, 1, [&](uint64_t key) { cache_.UnlockNew(*caches_.Create(key)); });
}

TEST_P(OperationCostTest, EvictingTakesOneHashLock) {
  for (uint64_t key = 1; key <= kInodes; ++key) caches_.Get(key);
  ExpectCosts(1, 1, [&](uint64_t) { EXPECT_EQ(cache_.Prune(1), 1u); });
}

TEST_P(OperationCostTest, AKeptInodeTakesTheLruLockOnceAndAStreamedOneNever) {
  EXPECT_EQ(Taken(rcu::LockClass::kLru, [&](uint64_t key) { caches_.Get(key); }), kInodes);
  EXPECT_EQ(Taken(rcu::LockClass::kLru, [&](uint64_t key) { caches_.Get(key); }), 0u)
      << "removal is lazy";
  EXPECT_EQ(Taken(rcu::LockClass::kLru, [&](uint64_t key) { caches_.Stream(kInodes + key); }), 0u);
}
#endif

// A steady state of misses at the limit: each insertion evicts, in batches.
TEST(InodeMeasureTest, ASingleLruIsAGlobalLockTheLettersPoliciesDoNotRemove) {
  for (const auto& [lru, least, most] :
       {std::tuple{LruPolicy::kSingle, kInodes, 2 * kInodes}, {LruPolicy::kSharded, 0ul, 0ul}}) {
    InodeCacheOptions options = WithoutGrowth({HashPolicy::kIndex, ListPolicy::kNone, lru});
    options.inodes_max = 100;
    InodeCaches caches(options);
    for (uint64_t key = 1; key <= 200; ++key) caches.Get(key);
    const LockAcquisitions before = caches.cache->lock_acquisitions();
    for (uint64_t key = 1; key <= kInodes; ++key) caches.Get(1000 + key);
    const LockAcquisitions taken = caches.cache->lock_acquisitions() - before;
    EXPECT_GE(taken.global, least);
    EXPECT_LE(taken.global, most);
  }
}

// INODE-16: the cost of an iteration.
TEST(InodeMeasureTest, IterationTakesOneListLockAnInodeOrOneIndexLockABatch) {
  const auto cost = [](HashPolicy hash, ListPolicy list) {
    InodeCaches caches(WithoutGrowth({hash, list, LruPolicy::kSharded}));
    for (uint64_t key = 1; key <= kInodes; ++key) caches.Get(key);
    const LockAcquisitions before = caches.cache->lock_acquisitions();
    uint64_t visited = 0;
    caches.cache->IterInodes({}, [&](Inode&) {
      ++visited;
      return IterStep::kNext;
    });
    EXPECT_EQ(visited, kInodes);
    return caches.cache->lock_acquisitions() - before;
  };
  // One to enter each shard, one to continue from each inode.
  EXPECT_EQ(cost(HashPolicy::kBitRcu, ListPolicy::kSingle).global, kInodes + 1);
  EXPECT_EQ(cost(HashPolicy::kBitRcu, ListPolicy::kSharded).global, 0u);
  EXPECT_EQ(cost(HashPolicy::kBitRcu, ListPolicy::kSharded).sharded, kInodes + rcu::CpuCount());
  EXPECT_EQ(cost(HashPolicy::kBitRcu, ListPolicy::kGrouped).sharded,
            kInodes + 1 + std::ranges::max(rcu::CpuGroups(rcu::CpuCount(), kGroupCpusMax)));
  // 64 shards of the index, each locked once for each of 8 slots, and batches of at least 32.
  const LockAcquisitions index = cost(HashPolicy::kIndex, ListPolicy::kNone);
  EXPECT_EQ(index.global, 0u);
  EXPECT_LE(index.sharded, 64 * 8 + kInodes / 32);
}

TEST(InodeMeasureTest, IterationLetsGoOfTheIndexLockEvery1024Buckets) {
  constexpr uint64_t kBuckets = 1 << 20;
  InodeCaches caches({.policy = {.hash = HashPolicy::kIndex}, .initial_buckets = kBuckets});
  const LockAcquisitions before = caches.cache->lock_acquisitions();
  EXPECT_EQ(caches.cache->CountBusy(), 0u);
  EXPECT_EQ((caches.cache->lock_acquisitions() - before).sharded, kBuckets / 1024);
}

// INODE-15.
struct ChainStatistics {
  uint64_t chains = 0;
  uint64_t nodes = 0;
  size_t longest = 0;
  double chi_square = 0;  // per chain; 1 if inodes are distributed at random

  double mean() const { return static_cast<double>(nodes) / static_cast<double>(chains); }
};

ChainStatistics ChainsOf(IgetFamily& cache) {
  ChainStatistics statistics;
  std::vector<size_t> lengths;
  cache.ForEachChain([&](size_t length) {
    lengths.push_back(length);
    ++statistics.chains;
    statistics.nodes += length;
    statistics.longest = std::max(statistics.longest, length);
  });
  const double mean = statistics.mean();
  for (const size_t length : lengths) {
    const double excess = static_cast<double>(length) - mean;
    statistics.chi_square += excess * excess / mean / static_cast<double>(lengths.size());
  }
  return statistics;
}

// One of each kind of table; liburcu's chains cannot be examined.
constexpr HashPolicy kTables[] = {HashPolicy::kGlobal, HashPolicy::kBit, HashPolicy::kRealLock,
                                  HashPolicy::kArray, HashPolicy::kIndex};

// INODE-15.
TEST(InodeMeasureTest, FileIdsOfAnyStrideFallOnChainsAtRandom) {
  constexpr size_t kChains = 1 << 14;
  for (const HashPolicy hash : kTables) {
    for (const uint64_t stride : {uint64_t{1}, uint64_t{64}, uint64_t{4096}, uint64_t{1} << 32}) {
      InodeCaches caches({.policy = {.hash = hash}, .initial_buckets = kChains});
      for (uint64_t i = 1; i <= kChains; ++i) caches.Get(i * stride);
      const ChainStatistics chains = ChainsOf(*caches.cache);
      SCOPED_TRACE(std::string(PolicyLabel(hash)) + " stride " + std::to_string(stride));
      EXPECT_EQ(chains.chains, kChains);
      EXPECT_EQ(chains.mean(), 1);
      // 1 with a standard deviation of 0.011, or of 0.03 if groups of eight ids are correlated.
      EXPECT_NEAR(chains.chi_square, 1, 0.2);
      EXPECT_LE(chains.longest, 14u) << "far from a random distribution";
    }
  }
}

TEST(InodeMeasureTest, GrowthKeepsTheMeanChainNearTheChosenLoad) {
  for (const HashPolicy hash : kTables) {
    for (const size_t load : {size_t{1}, size_t{8}}) {
      InodeCaches caches({.policy = {.hash = hash}, .chain_load = load, .initial_buckets = 16});
      uint64_t key = 0;
      for (uint64_t inodes = 1000; inodes <= 10'000; inodes *= 10) {
        while (key < inodes) caches.Get(++key);
        const ChainStatistics chains = ChainsOf(*caches.cache);
        EXPECT_EQ(chains.nodes, inodes);
        // A table doubles at the load and is then half empty. The index starts with more chains.
        EXPECT_LE(chains.mean(), 1.1 * static_cast<double>(load))
            << PolicyLabel(hash) << " of " << inodes;
        if (chains.chains > 64 * 8) {
          EXPECT_GE(chains.mean(), 0.45 * static_cast<double>(load))
              << PolicyLabel(hash) << " of " << inodes;
        }
      }
    }
  }
}

// Debug builds have larger locks, sanitizers a heap of their own.
#ifdef NDEBUG
static_assert(sizeof(Inode) <= 256);

class InodeBytesTest : public testing::TestWithParam<InodePolicy> {};

INSTANTIATE_TEST_SUITE_P(Policies, InodeBytesTest, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);

TEST_P(InodeBytesTest, AnInodeCostsAtMost400BytesAllIncluded) {
  // Just before the table doubles; just after, its share is twice that.
  constexpr uint64_t kMany = 250'000;
  const bool two_words_a_bucket =
      GetParam().hash == HashPolicy::kRealLock || GetParam().hash == HashPolicy::kLfht;
  const auto bytes_in_use = [] {
    const struct mallinfo2 heap = mallinfo2();
    return rcu::PageRegion::mapped_bytes() + heap.uordblks + heap.hblkhd;
  };
  InodeCaches caches(GetParam());
  rcu::Barrier();
  const size_t before = bytes_in_use();
  for (uint64_t key = 1; key <= kMany; ++key) caches.Get(key);
  rcu::Barrier();  // frees tables that were outgrown
  EXPECT_LE((bytes_in_use() - before) / kMany, two_words_a_bucket ? 408u : 400u);
  EXPECT_LE(caches.cache->inode_bytes() / kMany, 392u);
}
#endif

}  // namespace
}  // namespace nfswalk::icache
