// SpinLock and Lockref.
#include <gtest/gtest.h>

#include <mutex>
#include <optional>

#include "rcu/lockref.h"
#include "rcu/spin_lock.h"
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

const Scenario kSpinLock(
    [] {
      SpinLock lock;
      Plain<int> guarded;
      const auto add = [&] {
        std::lock_guard held(lock);
        guarded.Write(guarded.Read() + 1);
      };
      RunThreads({add, add, [&] {
                    const std::unique_lock held(lock, std::try_to_lock);
                    if (!held.owns_lock()) Saw("the lock is held");
                    if (held.owns_lock() && guarded.Read() == 2) Saw("the lock is free again");
                  }});
      Require(guarded.Read() == 2, "a change is lost");
    },
    20, {"the lock is held", "the lock is free again"});

TEST(SpinLockLitmus, HoldersExcludeAndSeeEachOther) { kSpinLock.ExpectHolds(); }

// As when a type-stable object gets a new owner.
const Scenario kGet(
    [] {
      Lockref object;
      object.Lock();
      object.MarkDead();
      object.Unlock();
      Plain<int> data;
      RunThreads({[&] {
                    object.Lock();
                    data.Write(1);
                    object.Revive(0);
                    object.Unlock();
                  },
                  [&] {
                    if (!object.GetNotDead()) {
                      Saw("no reference on a dead object");
                      return;
                    }
                    Require(data.Read() == 1, "a reference on an object that is not ready");
                    Saw("a reference on the new object");
                  }});
    },
    3, {"no reference on a dead object", "a reference on the new object"});

// WALK-23.
TEST(LockrefLitmus, AReferenceSeesWhatWasDoneUnderTheLock) { kGet.ExpectHolds(); }

const Scenario kPut(
    [] {
      Lockref object;
      for (int i = 0; i < 2; ++i) object.Get();
      Plain<int> data;
      Plain<int> other_data;
      RunThreads({[&] {
                    data.Write(1);
                    if (object.TryPut() == std::optional(0u)) Saw("the last holder has no lock");
                  },
                  [&] {
                    other_data.Write(1);
                    if (object.PutUnlessLast()) return;
                    object.Lock();
                    if (object.DecrementLocked() == 0) Saw("the last holder has the lock");
                    object.Unlock();
                  },
                  [&] {
                    object.Lock();
                    if (object.count() == 0) {
                      object.MarkDead();
                      Require(data.Read() + other_data.Read() == 2, "a holder's work is not seen");
                      Saw("an object without references ends");
                    }
                    object.Unlock();
                  }});
    },
    100,
    {"the last holder has no lock", "the last holder has the lock",
     "an object without references ends"});

TEST(LockrefLitmus, AnObjectEndsAfterAllThatItsHoldersDid) { kPut.ExpectHolds(); }

// As a dentry, which is on the LRU or not as its last holder finds it, and which a scan takes off
// it while it is in use.
const Scenario kLastPut(
    [] {
      Lockref object;
      object.Get();
      std::atomic<bool> listed{true};
      RunThreads({[&] {
                    object.Lock();
                    if (object.count() > 0) listed.store(false, std::memory_order_relaxed);
                    object.Unlock();
                  },
                  [&] {
                    if (object.TryPut() != std::optional(0u)) {
                      Saw("the lock is held");
                      return;
                    }
                    if (!listed.load(std::memory_order_relaxed)) {
                      Saw("the last holder lists it again");
                      listed.store(true, std::memory_order_relaxed);
                    }
                  }});
      Require(object.count() > 0 || listed.load(std::memory_order_relaxed),
              "an object without references is on no list");
    },
    5, {"the lock is held", "the last holder lists it again"});

TEST(LockrefLitmus, ALastPutSeesWhatWasDoneUnderTheLock) { kLastPut.ExpectHolds(); }

const Scenario kTryLockref(
    [] {
      Lockref object;
      Plain<int> data;
      RunThreads({[&] {
                    object.Lock();
                    data.Write(1);
                    object.Unlock();
                  },
                  [&] {
                    if (!object.TryLock()) {
                      Saw("the lock is held");
                      return;
                    }
                    if (data.Read() == 1) Saw("the lock is free again");
                    object.Unlock();
                  }});
    },
    3, {"the lock is held", "the lock is free again"});

TEST(LockrefLitmus, ATryLockThatSucceedsSeesTheLastHoldersChanges) { kTryLockref.ExpectHolds(); }

}  // namespace
}  // namespace nfswalk::rcu
