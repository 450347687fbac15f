// Contention on spin locks, chain locks and lockrefs.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "rcu/bit_lock_chain.h"
#include "rcu/lockref.h"
#include "rcu/spin_lock.h"

namespace nfswalk::rcu {
namespace {

constexpr int kThreads = 4;

void RunOnThreads(int threads, const auto& body) {
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back([&body, i] { body(i); });
}

struct Node {
  std::atomic<Node*> next{nullptr};
};
struct Traits {
  static std::atomic<Node*>& Next(Node& node) { return node.next; }
};

class LockrefAsMutex {
 public:
  void lock() { ref_.Lock(); }
  void unlock() { ref_.Unlock(); }
  bool try_lock() { return ref_.TryLock(); }

 private:
  Lockref ref_;
};

template <class Lock>
class MutualExclusionRace : public testing::Test {};
using AllLocks = testing::Types<SpinLock, LockrefAsMutex, BitLockChain<Node, Traits, false>,
                                BitLockChain<Node, Traits, true>>;
TYPED_TEST_SUITE(MutualExclusionRace, AllLocks);

// A plain variable: ThreadSanitizer reports it if the lock does not order its accesses.
TYPED_TEST(MutualExclusionRace, NoUpdateUnderTheLockIsLost) {
  constexpr uint64_t kRounds = 50'000;
  TypeParam lock;
  uint64_t value = 0;
  std::atomic<uint64_t> tried{0};
  RunOnThreads(kThreads, [&](int thread) {
    // The try_lock thread continues until it succeeded once, at the latest when the others are
    // done.
    for (uint64_t i = 0; i < kRounds || (thread == 0 && tried.load() == 0); ++i) {
      if (thread == 0) {
        std::unique_lock guard(lock, std::try_to_lock);
        if (!guard.owns_lock()) continue;
        ++value;
        tried.fetch_add(1, std::memory_order_relaxed);
      } else {
        std::lock_guard guard(lock);
        ++value;
      }
    }
  });
  EXPECT_EQ(value, (kThreads - 1) * kRounds + tried.load());
  EXPECT_GT(tried.load(), 0u);
}

TEST(LockrefRace, GetsAndPutsOfAllKindsBalance) {
  constexpr int kRounds = 50'000;
  Lockref ref;
  ref.Get();
  RunOnThreads(kThreads, [&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      if ((i + thread) % 8 == 0) {
        ref.Lock();
        const int32_t frozen = ref.count();
        ref.IncrementLocked();
        ASSERT_EQ(ref.count(), frozen + 1);
        ref.Unlock();
      } else {
        ASSERT_TRUE(i % 2 == 0 ? ref.GetNotDead() : ref.GetNotZero());
      }
      if (i % 3 == 0 ? ref.PutUnlessLast() : ref.TryPut().has_value()) continue;
      ref.Lock();
      ref.DecrementLocked();
      ref.Unlock();
    }
  });
  EXPECT_EQ(ref.count(), 1);
  EXPECT_FALSE(ref.locked());
}

// One thread marks the object dead when it is unreferenced, and revives it later; the others never
// hold a reference to a dead object, nor see the plain field change that is written while it is
// dead.
TEST(LockrefRace, ADeadObjectHasNoReferences) {
  constexpr uint64_t kFloor = 200;
  constexpr uint64_t kAttempts = 20'000'000;
  Lockref ref;
  uint64_t generation = 0;  // written only while dead
  std::atomic<uint64_t> gets{0};
  std::atomic<uint64_t> refusals{0};
  std::atomic<bool> stop{false};
  const auto use = [&](int) {
    for (uint64_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      if (!ref.GetNotDead()) {
        refusals.fetch_add(1, std::memory_order_relaxed);
        std::this_thread::yield();
        continue;
      }
      const uint64_t seen = generation;
      ASSERT_FALSE(ref.dead());
      if (i % 16 == 0) std::this_thread::yield();
      ASSERT_EQ(generation, seen);
      gets.fetch_add(1, std::memory_order_relaxed);
      if (!ref.TryPut().has_value()) {
        ref.Lock();
        ref.DecrementLocked();
        ref.Unlock();
      }
      if (i % 4 == 0) std::this_thread::yield();
    }
  };
  std::jthread users([&] { RunOnThreads(kThreads - 1, use); });
  uint64_t kills = 0;
  for (uint64_t i = 0; i < kAttempts; ++i) {
    if (kills >= kFloor && gets.load() >= kFloor && refusals.load() >= kFloor) break;
    ref.Lock();
    const bool unused = ref.count() == 0;
    if (unused) ref.MarkDead();
    ref.Unlock();
    std::this_thread::yield();
    if (!unused) continue;
    ++generation;
    ref.Lock();
    ref.Revive(0);
    ref.Unlock();
    ++kills;
    std::this_thread::yield();
  }
  stop.store(true);
  users.join();
  EXPECT_EQ(ref.count(), 0);
  EXPECT_EQ(generation, kills);
  EXPECT_GE(kills, kFloor);
  EXPECT_GE(gets.load(), kFloor);
  EXPECT_GE(refusals.load(), kFloor);
}

// Readers traverse while a writer inserts and removes: they always find the node that stays.
TEST(BitLockChainRace, ReadersNeverLoseANodeThatStays) {
  using Chain = BitLockChain<Node, Traits, false>;
  constexpr int kRounds = 100'000;
  Chain chain;
  Node stays;
  std::vector<Node> comers(4);
  {
    std::lock_guard lock(chain);
    chain.InsertHead(&stays);
  }
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> walks_with_comers{0};
  std::jthread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      size_t others = 0;
      bool found = false;
      for (Node* node = chain.FirstRcu(); node != nullptr; node = Chain::NextRcu(*node)) {
        found |= node == &stays;
        others += node != &stays ? 1 : 0;
      }
      ASSERT_TRUE(found);
      if (others != 0) walks_with_comers.fetch_add(1, std::memory_order_relaxed);
    }
  });
  // After kRounds, continues until the reader has found something, within a bound.
  for (int i = 0; i < 100 * kRounds; ++i) {
    if (i >= kRounds && walks_with_comers.load(std::memory_order_relaxed) >= 100) break;
    Node& node = comers[static_cast<size_t>(i) % comers.size()];
    std::lock_guard lock(chain);
    if (i % 8 < 4) {
      chain.InsertHead(&node);
    } else {
      chain.Remove(&node);
    }
  }
  stop.store(true);
  reader.join();
  EXPECT_GE(walks_with_comers.load(), 100u);
}

}  // namespace
}  // namespace nfswalk::rcu
