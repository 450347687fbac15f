// The access cache: no credential is ever answered with the rights of another.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "access_cache/access_cache.h"
#include "access_cache/access_lru.h"
#include "rcu/keyed_change_count.h"
#include "rcu/read_guard.h"
#include "rcu/spin_lock.h"
#include "sunrpc_auth/credential_cache.h"
#include "tests/litmus/checked_atomic.h"
#include "tests/litmus/explorer.h"
#include "tests/litmus/scenario.h"

namespace nfswalk::access_cache {
namespace {

using litmus::Require;
using litmus::RunThreads;
using litmus::Saw;
using litmus::Scenario;
using sunrpc_auth::CachedCredential;
using sunrpc_auth::CredentialRef;

constexpr uint64_t kLifetime_ns = 100;

// Rights that the server grants a credential, and when.
struct Grant {
  uint32_t rights;
  uint64_t at_ns;
};

struct Inode {
  rcu::KeyedChangeCount drops;
  AccessLru lru{100, drops};
  rcu::SpinLock lock{rcu::LockClass::kAccess};
  AccessCache cache;
  CachedCredential first;
  CachedCredential second;

  ~Inode() { cache.Clear(lock, lru); }

  void Insert(const CachedCredential& credential, Grant grant) {
    cache.Insert(lock, CredentialRef::Adopt(&credential), grant.rights, grant.at_ns, cache.epoch(),
                 lru);
  }
  void ServeFromList() {
    Insert(first, {.rights = 1, .at_ns = 10});
    Insert(second, {.rights = 2, .at_ns = 20});
  }
  void MakeNewest(const CachedCredential& credential) {
    const auto rights =
        cache.SearchLocked(lock, &credential, {.now_ns = 40, .lifetime_ns = kLifetime_ns});
    Require(rights.has_value(), "an answer is lost");
  }
};

enum class Lookup { kPeek, kSearch, kGrantedAt };

// The rights that a lookup of `credential` answers with, or the time of the grant.
template <Lookup kLookup>
std::optional<uint64_t> Find(const Inode& inode, const CachedCredential& credential,
                             uint64_t now_ns) {
  rcu::ReadGuard guard;
  const AccessAge age{.now_ns = now_ns, .lifetime_ns = kLifetime_ns};
  if constexpr (kLookup == Lookup::kPeek) return inode.cache.PeekRcu(&credential, age);
  if constexpr (kLookup == Lookup::kSearch) return inode.cache.SearchRcu(&credential, age);
  return inode.cache.GrantedAtRcu(&credential, age);
}

// The inode's own answer passes from one credential to another, and back.
template <Lookup kLookup>
void PassAnswer() {
  Inode inode;
  inode.Insert(inode.first, {.rights = 1, .at_ns = 10});
  RunThreads({[&] {
                inode.cache.Invalidate();
                inode.Insert(inode.second, {.rights = 2, .at_ns = 20});
                inode.cache.Invalidate();
                inode.Insert(inode.first, {.rights = 4, .at_ns = 30});
              },
              [&] {
                const auto found = Find<kLookup>(inode, inode.second, 40);
                if (!found) return;
                Saw("an answer");
                Require(*found == (kLookup == Lookup::kGrantedAt ? 20 : 2),
                        "of another credential");
              }});
}
const Scenario kPeekWhilePassed(&PassAnswer<Lookup::kPeek>, 500, {"an answer"});
const Scenario kSearchWhilePassed(&PassAnswer<Lookup::kSearch>, 500, {"an answer"});
const Scenario kTimeWhilePassed(&PassAnswer<Lookup::kGrantedAt>, 500, {"an answer"});

// ACCESS-11.
TEST(AccessCacheLitmus, APeekNeverAnswersWithAnothersRights) { kPeekWhilePassed.ExpectHolds(); }
TEST(AccessCacheLitmus, ASearchNeverAnswersWithAnothersRights) { kSearchWhilePassed.ExpectHolds(); }
TEST(AccessCacheLitmus, ATimeOfGrantIsNeverAnothers) { kTimeWhilePassed.ExpectHolds(); }

// The server grants the same credential less, later.
template <Lookup kLookup>
void RenewAnswer() {
  Inode inode;
  inode.Insert(inode.first, {.rights = 3, .at_ns = 10});
  RunThreads({[&] { inode.Insert(inode.first, {.rights = 1, .at_ns = 110}); },
              [&] {
                const auto found = Find<kLookup>(inode, inode.first, 115);
                if (!found) return;
                Saw("the renewed answer");
                Require(*found == (kLookup == Lookup::kGrantedAt ? 110 : 1), "an answer too old");
              }});
}
const Scenario kPeekWhileRenewed(&RenewAnswer<Lookup::kPeek>, 20, {"the renewed answer"});
const Scenario kSearchWhileRenewed(&RenewAnswer<Lookup::kSearch>, 20, {"the renewed answer"});
const Scenario kTimeWhileRenewed(&RenewAnswer<Lookup::kGrantedAt>, 20, {"the renewed answer"});

// ACCESS-6.
TEST(AccessCacheLitmus, ARenewedAnswerHasItsOwnTime) {
  kPeekWhileRenewed.ExpectHolds();
  kSearchWhileRenewed.ExpectHolds();
  kTimeWhileRenewed.ExpectHolds();
}

// The address of a credential belongs to another one a grace period after its last pin ended.
const Scenario kAddressUsedAgain(
    [] {
      Inode inode;
      std::atomic<bool> belongs_to_other{false};
      inode.first.unpinned = [&] {
        litmus::AfterGracePeriod([&] { belongs_to_other.store(true, std::memory_order_relaxed); });
      };
      inode.Insert(inode.first, {.rights = 1, .at_ns = 10});
      RunThreads({[&] {
                    inode.cache.Invalidate();
                    inode.Insert(inode.second, {.rights = 2, .at_ns = 20});
                  },
                  [&] {
                    rcu::ReadGuard guard;
                    const bool other = belongs_to_other.load(std::memory_order_relaxed);
                    const auto found = Find<Lookup::kPeek>(inode, inode.first, 40);
                    if (other) Saw("the address belongs to another");
                    if (found) Saw("the first credential is answered");
                    Require(!other || !found, "the rights of the credential that was here before");
                  }});
      inode.first.unpinned = nullptr;
    },
    20, {"the address belongs to another", "the first credential is answered"});

TEST(AccessCacheLitmus, AnAddressUsedAgainHasNoRights) { kAddressUsedAgain.ExpectHolds(); }

// A thread that sees the epoch sees the change that it is about.
const Scenario kEpoch(
    [] {
      Inode inode;
      litmus::Plain<int> owner;
      RunThreads({[&] {
                    owner.Write(1);
                    inode.cache.Invalidate();
                  },
                  [&] {
                    if (inode.cache.epoch() != 2) return;
                    Saw("the new epoch");
                    Require(owner.Read() == 1, "the epoch of a change that is not seen");
                  }});
    },
    2, {"the new epoch"});

TEST(AccessCacheLitmus, AnEpochIsSeenAfterWhatItIsAbout) { kEpoch.ExpectHolds(); }

// Moves the answer that the inode holds to a list, which is made for it.
template <Lookup kLookup>
void MoveToList() {
  Inode inode;
  inode.Insert(inode.first, {.rights = 1, .at_ns = 10});
  RunThreads({[&] { inode.Insert(inode.second, {.rights = 2, .at_ns = 20}); },
              [&] {
                const auto found = Find<kLookup>(inode, inode.second, 40);
                if (!found) return;
                Saw("an answer of the list");
                Require(*found == (kLookup == Lookup::kGrantedAt ? 20 : 2),
                        "of another credential");
              }});
}
const Scenario kPeekWhileMoved(&MoveToList<Lookup::kPeek>, 5, {"an answer of the list"});
const Scenario kSearchWhileMoved(&MoveToList<Lookup::kSearch>, 5, {"an answer of the list"});
const Scenario kTimeWhileMoved(&MoveToList<Lookup::kGrantedAt>, 5, {"an answer of the list"});

const Scenario kSizeWhileMoved(
    [] {
      Inode inode;
      inode.Insert(inode.first, {.rights = 1, .at_ns = 10});
      RunThreads({[&] { inode.Insert(inode.second, {.rights = 2, .at_ns = 20}); },
                  [&] {
                    const size_t size = inode.cache.size();
                    Saw(size == 2 ? "two answers" : "one answer");
                    Require(size == 1 || size == 2, "an answer is lost");
                  }});
    },
    3, {"one answer", "two answers"});

TEST(AccessCacheLitmus, AnAnswerThatMovesToAListIsFoundWhole) {
  kSizeWhileMoved.ExpectHolds();
  kPeekWhileMoved.ExpectHolds();
  kSearchWhileMoved.ExpectHolds();
  kTimeWhileMoved.ExpectHolds();
}

// An entry moves to the front, one takes the place of another, and that is freed.
template <Lookup kLookup>
void ReplaceEntry() {
  Inode inode;
  inode.ServeFromList();
  RunThreads({[&] {
                inode.MakeNewest(inode.first);
                inode.Insert(inode.second, {.rights = 6, .at_ns = 30});
              },
              [&] {
                const auto found = Find<kLookup>(inode, inode.second, 40);
                if (!found) return;
                if (*found == 6) Saw("the entry in its place");
                if (*found == 2) Saw("the entry before");
                Require(*found == 2 || *found == 6, "of another credential");
              }});
}
const Scenario kPeekWhileReplaced(&ReplaceEntry<Lookup::kPeek>, 10,
                                  {"the entry in its place", "the entry before"});
const Scenario kSearchWhileReplaced(&ReplaceEntry<Lookup::kSearch>, 20,
                                    {"the entry in its place", "the entry before"});

TEST(AccessListLitmus, AnEntryIsFoundWholeAndFreedAfterItsReaders) {
  kPeekWhileReplaced.ExpectHolds();
  kSearchWhileReplaced.ExpectHolds();
}

// Entries that a search stands on move to the front, behind which new ones are.
const Scenario kSearchWhileMovedToFront(
    [] {
      Inode inode;
      CachedCredential third;
      CachedCredential fourth;
      inode.ServeFromList();
      RunThreads({[&] {
                    inode.Insert(third, {.rights = 3, .at_ns = 20});
                    inode.Insert(fourth, {.rights = 4, .at_ns = 20});
                    inode.MakeNewest(inode.second);
                    inode.MakeNewest(fourth);
                  },
                  [&] {
                    const auto found = Find<Lookup::kSearch>(inode, third, 40);
                    Saw(found ? "an answer" : "none");
                    Require(!found || *found == 3, "of another credential");
                  }});
    },
    100, {"an answer", "none"});

TEST(AccessListLitmus, AnEntryReachedThroughOneThatMovesIsWhole) {
  kSearchWhileMovedToFront.ExpectHolds();
}

const Scenario kSearchWhileCleared(
    [] {
      Inode inode;
      inode.ServeFromList();
      RunThreads({[&] { inode.cache.Clear(inode.lock, inode.lru); },
                  [&] {
                    const auto found = Find<Lookup::kSearch>(inode, inode.first, 40);
                    Saw(found ? "an answer" : "none");
                    Require(!found || *found == 1, "of another credential");
                  }});
    },
    10, {"an answer", "none"});

TEST(AccessListLitmus, AListIsFreedAfterItsReaders) { kSearchWhileCleared.ExpectHolds(); }

}  // namespace
}  // namespace nfswalk::access_cache
