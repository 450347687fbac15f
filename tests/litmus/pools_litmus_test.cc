// Objects of the pools, which readers look at while they are freed and used again.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "rcu/object_pool.h"
#include "rcu/read_guard.h"
#include "rcu/seqcount.h"
#include "tests/litmus/checked_atomic.h"
#include "tests/litmus/explorer.h"
#include "tests/litmus/scenario.h"

namespace nfswalk::rcu {
namespace {

using litmus::Plain;
using litmus::Require;
using litmus::RunThreads;
using litmus::Saw;
using litmus::Scenario;

constexpr auto kRelaxed = std::memory_order_relaxed;
// So that few make a slab.
constexpr size_t kFillerBytes = 7000;

// As a dentry: a sequence count says whether what was read is one user's.
struct Typed {
  SeqCount seq;
  std::atomic<int> first{0};
  std::atomic<int> second{0};
  std::array<char, kFillerBytes> filler;

  void Set(int value) {
    seq.WriteBegin();
    first.store(value, kRelaxed);
    second.store(value, kRelaxed);
    seq.WriteEnd();
  }
};

const Scenario kReuseUnderReader(
    [] {
      ObjectPool<Typed> pool;
      Typed* const object = pool.Allocate();
      object->Set(1);
      RunThreads({[&] { pool.Free(object); },
                  [&] {
                    Typed* const next = pool.Allocate();
                    if (next == object) Saw("the object is used again");
                    next->Set(2);
                  },
                  [&] {
                    const uint64_t sample = object->seq.Begin();
                    const int first = object->first.load(kRelaxed);
                    const int second = object->second.load(kRelaxed);
                    if (object->seq.Changed(sample)) {
                      if (first != second) Saw("two users' values are rejected");
                      return;
                    }
                    Require(first == second, "two users' values are valid");
                    if (first == 2) Saw("the new user's values are read");
                  }});
    },
    100,
    {"the object is used again", "two users' values are rejected",
     "the new user's values are read"});

// WALK-25.
TEST(ObjectPoolLitmus, AReaderNeverTakesTwoUsersOfAnObjectForOne) {
  kReuseUnderReader.ExpectHolds();
}

struct Whole {
  Plain<int> data;
  std::array<char, kFillerBytes> filler;
};

const Scenario kReuseAfterGracePeriod(
    [] {
      ObjectPool<Whole> pool;
      std::atomic<Whole*> published{pool.Allocate()};
      RunThreads({[&] {
                    Whole* const old = published.load(kRelaxed);
                    published.store(nullptr, kRelaxed);
                    pool.FreeDeferred(old);
                    Whole* const next = pool.Allocate();
                    if (next == old) Saw("the object is used again");
                    next->data.Write(2);
                    published.store(next, std::memory_order_release);  // pairs with the reader
                  },
                  [&] {
                    ReadGuard guard;
                    const Whole* const found =
                        published.load(std::memory_order_acquire);  // pairs with the writer
                    if (found == nullptr) return;
                    Saw(found->data.Read() == 2 ? "the new object is read" : "the old one is read");
                  }});
    },
    100, {"the object is used again", "the new object is read", "the old one is read"});

TEST(ObjectPoolLitmus, ARetiredObjectIsUsedAgainOnlyAfterItsReaders) {
  kReuseAfterGracePeriod.ExpectHolds();
}

}  // namespace
}  // namespace nfswalk::rcu
