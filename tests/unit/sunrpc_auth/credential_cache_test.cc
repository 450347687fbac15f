#include "sunrpc_auth/credential_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "rcu/coarse_clock.h"
#include "rcu/lock_order.h"
#include "rcu/read_guard.h"

namespace nfswalk::sunrpc_auth {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

class CredentialCacheTest : public testing::Test {
 protected:
  CredentialRef MustLookup(const Credential& credential) {
    auto reference = cache_.Lookup(credential);
    EXPECT_TRUE(reference.has_value());
    return std::move(*reference);
  }
  // Compared as an address only, since the section has ended.
  const CachedCredential* Nonblock(const Credential& credential) {
    rcu::ReadGuard guard;
    return cache_.LookupNonblock(credential);
  }

  CredentialCache cache_{{.entries_max = 100}};
};

// CRED-2.
TEST_F(CredentialCacheTest, NonblockNeverCreates) {
  EXPECT_EQ(Nonblock(Credential(1, 1)), nullptr);
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_F(CredentialCacheTest, EqualCredentialsShareOneObject) {
  const CredentialRef first = MustLookup(Credential(1, 2, {3}));
  const CredentialRef second = MustLookup(Credential(1, 2, {3}));
  EXPECT_EQ(first.get(), second.get());
  EXPECT_EQ(Nonblock(Credential(1, 2, {3})), first.get());
  EXPECT_EQ(first->key(), Credential(1, 2, {3}));
  EXPECT_EQ(cache_.size(), 1u);
}

// CRED-1.
TEST_F(CredentialCacheTest, SameUidWithOtherGidOrGroupsIsSomebodyElse) {
  std::vector<uint32_t> many(40), other_last;
  std::iota(many.begin(), many.end(), 500);
  other_last = many;
  other_last.back() = 1;
  std::vector<uint32_t> seventeen(many.begin(), many.begin() + 17), other_seventeenth = seventeen;
  other_seventeenth.back() = 1;
  const std::vector<Credential> all = {Credential(),
                                       Credential(0, 0),
                                       Credential(1, 1),
                                       Credential(1, 2),
                                       Credential(1, 1, {5, 6}),
                                       Credential(1, 1, {6, 5}),
                                       Credential(1, 1, {5}),
                                       Credential(1, 1, many),
                                       Credential(1, 1, other_last),
                                       Credential(1, 1, seventeen),
                                       Credential(1, 1, other_seventeenth)};
  std::vector<CredentialRef> references;
  std::set<const CachedCredential*> addresses;
  for (const Credential& credential : all) {
    references.push_back(MustLookup(credential));
    addresses.insert(references.back().get());
  }
  EXPECT_EQ(addresses.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(Nonblock(all[i]), references[i].get());
    EXPECT_EQ(references[i]->key(), all[i]);
  }
}

TEST_F(CredentialCacheTest, GroupListsAtTheEdgeOfTheObjectAreComparedWhole) {
  for (uint32_t count : {5, 6, 7, 16, 17, 21, 22, 23, 24, 1000}) {
    std::vector<uint32_t> groups(count, 1);
    const CredentialRef ones = MustLookup(Credential(9, count, groups));
    EXPECT_EQ(Nonblock(Credential(9, count, groups)), ones.get()) << count;
    groups.back() = 2;
    EXPECT_EQ(Nonblock(Credential(9, count, groups)), nullptr) << count;
  }
}

// Two different lists of `count` groups with the same hash: it adds one group after the other
// (Mix64()), so a pair that agrees in the upper half before the last group can be made to agree.
std::optional<std::pair<Credential, Credential>> SameHash(size_t count) {
  std::vector<uint32_t> groups(count - 1, 7);
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> seen;  // upper half -> group, lower half
  for (uint32_t group = 0; group < 400'000; ++group) {
    groups.back() = group;
    const uint64_t hash = Credential(1, 1, groups).hash();
    const auto lower = static_cast<uint32_t>(hash);
    const auto [place, fresh] = seen.try_emplace(hash >> 32, group, lower);
    if (fresh) continue;
    const auto& [earlier_group, earlier_lower] = place->second;
    groups.push_back(earlier_lower > lower ? earlier_lower - lower : 0);
    const Credential one(1, 1, groups);
    groups[count - 2] = earlier_group;
    groups[count - 1] = lower > earlier_lower ? lower - earlier_lower : 0;
    return std::pair(one, Credential(1, 1, groups));
  }
  return std::nullopt;
}

TEST_F(CredentialCacheTest, GroupsAreComparedEvenIfTheHashesCollide) {
  for (size_t count : {2, 18, 40}) {
    const auto pair = SameHash(count);
    ASSERT_TRUE(pair.has_value());
    const auto& [one, other] = *pair;
    ASSERT_EQ(one.hash(), other.hash());
    EXPECT_NE(one, other);
    const CredentialRef reference = MustLookup(one);
    EXPECT_EQ(Nonblock(other), nullptr) << count;
    EXPECT_NE(MustLookup(other).get(), reference.get()) << count;
    EXPECT_EQ(Nonblock(one), reference.get()) << count;
  }
}

TEST_F(CredentialCacheTest, NonblockTakesNoLock) {
  const CredentialRef reference = MustLookup(Credential(1, 1));
  const uint64_t before = rcu::ThreadLockCount();
  EXPECT_EQ(Nonblock(Credential(1, 1)), reference.get());
  EXPECT_EQ(Nonblock(Credential(2, 2)), nullptr);
  EXPECT_EQ(rcu::ThreadLockCount(), before);
}

// CRED-3.
TEST_F(CredentialCacheTest, KeptAt59SecondsIdleAndDroppedAt61) {
  CredentialRef reference = MustLookup(Credential(1, 1));
  const CachedCredential* const address = reference.get();
  const uint64_t before_ns = rcu::CoarseNowNs();
  reference = {};
  const uint64_t after_ns = rcu::CoarseNowNs();
  EXPECT_EQ(cache_.Prune(0), 0u) << "the clock has stepped back";
  EXPECT_EQ(cache_.Prune(before_ns + 59 * kSecondNs), 0u);
  EXPECT_EQ(Nonblock(Credential(1, 1)), address);
  EXPECT_EQ(cache_.Prune(after_ns + 61 * kSecondNs), 1u);
  EXPECT_EQ(Nonblock(Credential(1, 1)), nullptr);
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_F(CredentialCacheTest, AReferencedCredentialNeverExpires) {
  const CachedCredential* idle = nullptr;
  for (int was_idle : {0, 1}) {
    const CredentialRef pinned = MustLookup(Credential(1, 1));
    if (was_idle == 1) {
      EXPECT_EQ(pinned.get(), idle) << "found again";
    }
    idle = pinned.get();
    EXPECT_EQ(cache_.Prune(~uint64_t{0}), 0u) << was_idle;
    EXPECT_EQ(Nonblock(Credential(1, 1)), pinned.get()) << was_idle;
  }
}

TEST_F(CredentialCacheTest, ACopyOfAReferencePinsToo) {
  CredentialRef first = MustLookup(Credential(1, 1));
  const CredentialRef copy = first;
  first = {};
  EXPECT_EQ(cache_.Prune(~uint64_t{0}), 0u);
  CredentialRef moved = std::move(const_cast<CredentialRef&>(copy));
  EXPECT_FALSE(copy);
  EXPECT_EQ(cache_.Prune(~uint64_t{0}), 0u);
  moved = {};
  EXPECT_EQ(cache_.Prune(~uint64_t{0}), 1u);
}

TEST_F(CredentialCacheTest, ABorrowedCredentialCanBePinnedUntilItIsDropped) {
  MustLookup(Credential(1, 1));
  rcu::ReadGuard guard;
  const CachedCredential* borrowed = cache_.LookupNonblock(Credential(1, 1));
  CredentialRef taken = cache_.TakeReference(borrowed);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->key(), Credential(1, 1));
  EXPECT_EQ(cache_.Prune(~uint64_t{0}), 0u);
  taken = {};
  EXPECT_EQ(cache_.Prune(~uint64_t{0}), 1u);
  EXPECT_FALSE(cache_.TakeReference(borrowed));
  EXPECT_EQ(borrowed->key(), Credential(1, 1));  // still intact in this section
}

// CRED-4.
TEST(CredentialCacheLimitTest, OverTheLimitTheLongestIdleGoesFirst) {
  CredentialCache cache({.entries_max = 3});
  std::vector<CredentialRef> references;
  for (uint32_t uid : {0, 1, 2}) references.push_back(*cache.Lookup(Credential(uid, 1)));
  references[1] = {};
  references[0] = {};
  const CredentialRef fourth = *cache.Lookup(Credential(3, 1));
  EXPECT_EQ(cache.size(), 3u);
  rcu::ReadGuard guard;
  EXPECT_EQ(cache.LookupNonblock(Credential(1, 1)), nullptr);
  EXPECT_NE(cache.LookupNonblock(Credential(0, 1)), nullptr);
  EXPECT_NE(cache.LookupNonblock(Credential(2, 1)), nullptr);
}

TEST(CredentialCacheLimitTest, PinnedCredentialsMayExceedTheLimit) {
  CredentialCache cache({.entries_max = 2});
  std::vector<CredentialRef> references;
  for (uint32_t uid = 0; uid < 50; ++uid) references.push_back(*cache.Lookup(Credential(uid, 1)));
  EXPECT_EQ(cache.size(), 50u);
  {
    rcu::ReadGuard guard;
    for (uint32_t uid = 0; uid < 50; ++uid) {
      EXPECT_EQ(cache.LookupNonblock(Credential(uid, 1)), references[uid].get());
    }
  }
  references.clear();
  EXPECT_EQ(cache.Prune(0), 48u);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(CredentialCacheLimitTest, ALookupThatAddsAlsoExpires) {
  CredentialCache cache({.entries_max = 100, .idle_ns = 0});
  auto first = cache.Lookup(Credential(1, 1));
  first = std::unexpected(std::errc{});
  const uint64_t idle_since_ns = rcu::CoarseNowNs();
  while (rcu::CoarseNowNs() == idle_since_ns) {
  }
  const auto second = cache.Lookup(Credential(2, 2));
  EXPECT_EQ(cache.size(), 1u);
}

// CRED-6: a NEW entry in front. The set-up looks its own credential up.
TEST(CredentialCacheSetUpTest, ANewCredentialIsInvisibleWithoutAReferenceUntilSetUp) {
  CredentialCache* self = nullptr;
  int set_ups = 0;
  bool visible = true;
  CredentialCache cache({.entries_max = 10}, [&](const Credential& credential) {
    ++set_ups;
    rcu::ReadGuard guard;
    visible = self->LookupNonblock(credential) != nullptr;
    return std::errc{};
  });
  self = &cache;
  const auto reference = cache.Lookup(Credential(1, 1));
  ASSERT_TRUE(reference.has_value());
  EXPECT_FALSE(visible);
  const auto again = cache.Lookup(Credential(1, 1));
  EXPECT_EQ(again->get(), reference->get());
  EXPECT_EQ(set_ups, 1);
  rcu::ReadGuard guard;
  EXPECT_EQ(cache.LookupNonblock(Credential(1, 1)), reference->get());
}

TEST(CredentialCacheSetUpTest, AFailedSetUpIsReportedAndTriedAfresh) {
  std::errc outcome = std::errc::permission_denied;
  CredentialCache cache({.entries_max = 10}, [&](const Credential&) { return outcome; });
  const auto failed = cache.Lookup(Credential(1, 1));
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error(), std::errc::permission_denied);
  EXPECT_EQ(cache.size(), 0u);
  outcome = {};
  EXPECT_TRUE(cache.Lookup(Credential(1, 1)).has_value());
  EXPECT_EQ(cache.size(), 1u);
}

}  // namespace
}  // namespace nfswalk::sunrpc_auth
