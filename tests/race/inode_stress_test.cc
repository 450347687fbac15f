// Every operation of an inode cache at once, on few keys.
//
// Invariants: an inode that is found has the key of the lookup and is not dying; at most one inode
// of a key is alive (not dying, not unhashed, accepted by its identity); each inode that was
// created is evicted once; no reference is left. In a debug build the pool checks that all of its
// memory is returned. A run in which some outcome occurs less often than its
// floor fails.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <memory>
#include <random>
#include <source_location>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/icache/iget_family.h"
#include "rcu/read_guard.h"
#include "tests/fixtures/inode_caches.h"

namespace nfswalk::icache {
namespace {

enum Outcome : size_t {
  kCreated,
  kFound,
  kMissed,
  kAnsweredStale,
  kSetRefused,
  kKeyTaken,
  kBesideADyingOne,
  kGivenUp,
  kDiscarded,
  kUnhashed,
  kForgotten,
  kNotKept,
  kSeenUnderRcu,
  kTakenWithoutWaiting,
  kVisited,
  kPruned,
  kEvictedUnused,
  kSynced,
  kOutcomes
};
struct Floor {
  const char* what;
  uint64_t least;
};
constexpr std::array<Floor, kOutcomes> kFloors = {{
    {"inodes created", 1000},
    {"inodes found", 1000},
    {"lookups without a result", 100},
    {"files found while they were being created", 10},
    {"identities that refused to be set", 10},
    {"files not created as their key was taken", 10},
    {"files created beside a dying inode", 1},
    {"new inodes given up", 10},
    {"new files discarded", 10},
    {"inodes unhashed", 10},
    {"inodes that the server forgot", 10},
    {"inodes marked not to be kept", 10},
    {"inodes seen without a reference", 100},
    {"inodes taken by a match of the caller's", 100},
    {"inodes iterated", 100},
    {"inodes pruned", 10},
    {"inodes evicted all at once", 10},
    {"syncs", 10},
}};

struct Plan {
  size_t keys;
  size_t inodes_max;
  size_t initial_buckets;
  uint64_t rounds;          // of each thread; more until all floors are reached
  uint64_t iteration_each;  // rounds between iterations
  bool floors;
};
constexpr size_t kThreads = 8;
constexpr Plan kFewKeys = {12, 8, 1024, 1200, 16, true};
constexpr Plan kGrowingTable = {3000, 1'000'000, 2, 3000, 3000, false};

// State shared by the threads.
class Scene {
 public:
  Scene(const InodePolicy& policy, const Plan& plan)
      : plan(plan),
        caches({.policy = policy,
                .inodes_max = plan.inodes_max,
                .initial_buckets = plan.initial_buckets}),
        alive_(std::make_unique<std::atomic<Inode*>[]>(plan.keys)) {
    caches.operations.on_evict = [this](Inode& inode) { Evicted(inode); };
    // Prolongs the state of dying and hashed.
    caches.operations.on_write = [](Inode&) { std::this_thread::yield(); };
  }
  ~Scene() { caches.operations.on_evict = {}; }

  void Count(Outcome outcome, uint64_t n = 1) { outcomes_[outcome] += n; }
  uint64_t count(Outcome outcome) const { return outcomes_[outcome]; }
  // Thread-safe; a failure names the caller's line.
  void Check(bool holds, std::source_location here = std::source_location::current()) {
    if (!holds) ADD_FAILURE_AT(here.file_name(), static_cast<int>(here.line()));
  }

  // Called by the creator, before another thread may change the inode.
  void Claim(Inode& inode, bool beside_dying) {
    rcu::ReadGuard guard;  // the previous inode may be evicted now
    inode.change_id = kLives;
    const Inode* const before = alive_[inode.fileid].exchange(&inode);
    if (before != nullptr) Count(kBesideADyingOne);
    Check(before == nullptr || (beside_dying && before->Is(kDying)));
    Count(kCreated);
  }
  // Called before the inode is unhashed.
  void Retire(Inode& inode) {
    Inode* expected = &inode;
    alive_[inode.fileid].compare_exchange_strong(expected, nullptr);
  }

  bool Enough() const {
    for (size_t i = 0; plan.floors && i < kOutcomes; ++i) {
      if (outcomes_[i] < kFloors[i].least) return false;
    }
    return true;
  }
  void CheckTheEnd() {
    for (size_t i = 0; plan.floors && i < kOutcomes; ++i) {
      EXPECT_GE(outcomes_[i], kFloors[i].least) << kFloors[i].what;
    }
    EXPECT_EQ(caches.cache->CountBusy(), 0u);
    EXPECT_EQ(caches.cache->Unmount(), 0u);
    EXPECT_EQ(caches.cache->size(), 0u);
    EXPECT_EQ(ended_, outcomes_[kCreated]);
    for (size_t key = 0; key < plan.keys; ++key) EXPECT_EQ(alive_[key], nullptr);
  }

  const Plan plan;
  InodeCaches caches;

 private:
  static constexpr uint64_t kLives = 0xa11e;

  void Evicted(Inode& inode) {
    // Excludes inodes that lost the insertion race.
    if (inode.change_id.exchange(0) != kLives) return;
    ++ended_;
    if (ended_ % 4 == 0) std::this_thread::yield();
    Retire(inode);
  }

  const std::unique_ptr<std::atomic<Inode*>[]> alive_;  // by key
  std::array<std::atomic<uint64_t>, kOutcomes> outcomes_{};
  std::atomic<uint64_t> ended_{0};
};

// The actions of one thread.
class Worker {
 public:
  Worker(Scene& scene, uint64_t seed) : scene_(scene), cache_(*scene.caches.cache), random_(seed) {}

  void Run() {
    const uint64_t rounds = scene_.plan.rounds;
    for (uint64_t i = 0; i < rounds || (!scene_.Enough() && i < 100 * rounds); ++i) {
      if (Random(scene_.plan.iteration_each) == 0) {
        OnAllInodes();
      } else {
        OnOneKey(Random(scene_.plan.keys));
      }
    }
    held_ = {};
  }

 private:
  uint64_t Random(uint64_t below) { return random_() % below; }

  void OnOneKey(uint64_t key) {
    const uint64_t hash = cache_.HashOf(key);
    KeyIdentity identity(key);
    switch (Random(12)) {
      case 0:
        return Take(key, cache_.Iget(key));
      case 1:
        return Take(key, cache_.Iget5(hash, identity));
      case 2:
      case 3:
        return Take(key, cache_.Iget5Rcu(hash, identity));
      case 4:
        identity.set_error = std::errc::bad_address;
        return Take(key, cache_.Iget5Rcu(hash, identity));
      case 5:
        return Take(key, cache_.Insert5(cache_.NewInode(), hash, identity));
      case 6:
        return CreateFile(key);
      case 7:
        return Found(key, cache_.Ilookup(key));
      case 8:
        return Found(key, Random(2) == 0 ? cache_.Ilookup5(hash, identity)
                                         : cache_.Ilookup5Rcu(hash, identity));
      case 9:
        return FoundAtOnce(key, Random(2) == 0 ? cache_.Ilookup5NoWait(hash, identity)
                                               : cache_.Ilookup5NoWaitRcu(hash, identity));
      case 10:
        return TakeWithoutWaiting(key, hash);
      case 11:
        return Look(key, hash, identity);
    }
  }

  void Take(uint64_t key, IgetResult result) {
    if (!result) {
      scene_.Check(result.error() != InodeError::kNoMemory);
      return scene_.Count(result.error() == InodeError::kSetFailed ? kSetRefused : kAnsweredStale);
    }
    Inode& inode = *result->inode;
    if (!result->is_new) return Found(key, std::move(result->inode));
    scene_.Claim(inode, /*beside_dying=*/false);
    scene_.Check(inode.Is(kNew) && inode.fileid == key);
    if (Random(8) == 0) {
      scene_.Count(kGivenUp);
      scene_.Retire(inode);
      return cache_.IgetFailed(std::move(result->inode));
    }
    cache_.UnlockNew(inode);
    Use(std::move(result->inode));
  }

  void CreateFile(uint64_t key) {
    InodeRef fresh = cache_.NewInode();
    fresh->fileid = key;
    if (cache_.InsertLocked(*fresh) != std::errc{}) return scene_.Count(kKeyTaken);
    scene_.Claim(*fresh, /*beside_dying=*/true);
    std::this_thread::yield();
    if (Random(4) == 0) {
      scene_.Count(kDiscarded);
      return cache_.DiscardNew(std::move(fresh));
    }
    cache_.UnlockNew(*fresh);
    Use(std::move(fresh));
  }

  void Found(uint64_t key, InodeRef inode) {
    if (!inode) return scene_.Count(kMissed);
    scene_.Count(kFound);
    scene_.Check(inode->fileid == key && cache_.Owns(*inode) && !inode->Is(kDying | kNew));
    Use(std::move(inode));
  }

  // The inode may be incomplete, so it is not modified.
  void FoundAtOnce(uint64_t key, InodeRef inode) {
    if (!inode) return scene_.Count(kMissed);
    scene_.Count(kFound);
    scene_.Check(inode->fileid == key && cache_.Owns(*inode) && !inode->Is(kDying));
  }

  void TakeWithoutWaiting(uint64_t key, uint64_t hash) {
    InodeRef taken = cache_.FindNoWait(hash, [key](Inode& inode) {
      if (inode.fileid != key) return IgetFamily::Take::kNext;
      return icache::Grab(inode).release() != nullptr ? IgetFamily::Take::kTake
                                                      : IgetFamily::Take::kNext;
    });
    if (taken) scene_.Count(kTakenWithoutWaiting);
    FoundAtOnce(key, std::move(taken));
  }

  void Look(uint64_t key, uint64_t hash, const KeyIdentity& identity) {
    rcu::ReadGuard guard;
    const Inode* inode = cache_.FindRcu(hash, identity);
    if (inode == nullptr) return;
    scene_.Count(kSeenUnderRcu);
    scene_.Check(inode->fileid == key && cache_.Owns(*inode));
  }

  void Use(InodeRef inode) {
    switch (Random(12)) {
      case 0:
        scene_.Count(kUnhashed);
        scene_.Retire(*inode);
        cache_.Unhash(*inode);
        break;
      case 1:
        scene_.Count(kForgotten);
        scene_.Retire(*inode);
        inode->flags.fetch_or(kStale);
        break;
      case 2:
        scene_.Count(kNotKept);
        MarkDontCache(*inode);
        break;
      case 3:
      case 4:
        cache_.MarkDirty(*inode);
        break;
      case 5:
        scene_.Check(static_cast<bool>(icache::Grab(*inode)));
        break;
      case 6:
        icache::Hold(*inode);
        break;
      case 7:
        held_ = std::move(inode);  // drops the previous one
        break;
    }
  }

  void OnAllInodes() {
    switch (Random(5)) {
      case 0:
        return scene_.Count(kPruned, cache_.Prune(1 + Random(4)));
      case 1:
        return scene_.Count(kEvictedUnused, cache_.EvictUnused());
      case 2:
        scene_.Check(cache_.Sync() == std::errc{});
        return scene_.Count(kSynced);
      case 3:
        return Iterate({.referenced_only = Random(2) == 0, .filter = {}}, /*steps=*/~size_t{0});
      case 4:
        return Iterate({}, /*steps=*/1 + Random(4));
    }
  }

  void Iterate(const IterOptions& options, size_t steps) {
    size_t visited = 0;
    const std::errc result =
        cache_.IterInodes(options, [&](Inode& inode) -> std::expected<IterStep, std::errc> {
          scene_.Check(inode.count > 0 && !inode.Is(kDying | kNew));
          if (++visited < steps) return IterStep::kNext;
          if (steps % 2 == 0) return IterStep::kStop;
          return std::unexpected(std::errc::interrupted);
        });
    scene_.Check(result == std::errc{} || (result == std::errc::interrupted && visited == steps));
    scene_.Count(kVisited, visited);
  }

  Scene& scene_;
  IgetFamily& cache_;
  std::mt19937_64 random_;
  InodeRef held_;
};

class InodeStress : public testing::TestWithParam<InodePolicy> {
 protected:
  void Run(Scene& scene) {
    // Overridden by --gtest_random_seed.
    const int32_t chosen = GTEST_FLAG_GET(random_seed);
    const uint64_t seed = chosen != 0 ? static_cast<uint64_t>(chosen) : std::random_device()();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&scene, seed, t] { Worker(scene, seed + t).Run(); });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

INSTANTIATE_TEST_SUITE_P(Policies, InodeStress, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);

TEST_P(InodeStress, EveryOperationAtOnceOnFewKeys) {
  Scene scene(GetParam(), kFewKeys);
  Run(scene);
  scene.CheckTheEnd();
}

TEST_P(InodeStress, InsertFindAndUnhashWhileTheTableGrows) {
  Scene scene(GetParam(), kGrowingTable);
  size_t chains_before = 0, chains = 0;
  scene.caches.cache->ForEachChain([&](size_t) { ++chains_before; });
  Run(scene);
  scene.caches.cache->ForEachChain([&](size_t) { ++chains; });
  EXPECT_TRUE(chains > chains_before || GetParam().hash == HashPolicy::kLfht);
  scene.CheckTheEnd();
}

// Each life of the inode ends with its last reference, and the next one begins: no thread starves.
TEST_P(InodeStress, ThousandsOfLivesOfOneKey) {
  Scene scene(GetParam(), {.keys = 1,
                           .inodes_max = 100,
                           .initial_buckets = 2,
                           .rounds = 0,
                           .iteration_each = 0,
                           .floors = false});
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&scene] {
      for (int i = 0; i < 500 || scene.count(kCreated) < 2000; ++i) {
        FoundInode found = scene.caches.GetNew(0);
        IgetFamily& cache = IgetFamily::Of(*found.inode);
        if (found.is_new) scene.Claim(*found.inode, /*beside_dying=*/false);
        MarkDontCache(*found.inode);
        if (found.is_new) cache.UnlockNew(*found.inode);
        scene.Check(found.inode->fileid == 0 && !found.inode->Is(kDying));
        found.inode = {};
        // Lets the other holders run, so that they drop their references.
        if (!found.is_new) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  scene.CheckTheEnd();
}

}  // namespace
}  // namespace nfswalk::icache
