// Races of the credential cache: interleavings forced at sync points, and a torture test that
// compares every result with the key.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "rcu/coarse_clock.h"
#include "rcu/defer.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::sunrpc_auth {
namespace {

constexpr uint64_t kEverExpired = ~uint64_t{0};

class CredentialRaceTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef NDEBUG
    GTEST_SKIP() << "no sync points in this build";
#endif
  }
  void TearDown() override { rcu::SyncPointScript::ClearAll(); }

  // Runs `interruption` the first time that a thread reaches `name`.
  void Once(const char* name, std::function<void()> interruption) {
    rcu::SyncPointScript::OnReach(name, [this, interruption] {
      if (reached_.exchange(true)) return;
      interruption();
    });
  }

  const Credential self_{1, 1, {5, 6, 7}};
  CredentialCache cache_{{.entries_max = 100}};
  std::atomic<bool> reached_{false};
};

// CRED-3.
TEST_F(CredentialRaceTest, ACredentialRevivedWhileItsLastReferenceGoesIsNotIdle) {
  CredentialRef revived;
  CredentialRef last = *cache_.Lookup(self_);
  const CachedCredential* const address = last.get();
  Once("credential_cache:put-last", [&] { revived = *cache_.Lookup(self_); });
  last = {};
  ASSERT_TRUE(reached_);
  EXPECT_EQ(revived.get(), address);
  EXPECT_EQ(cache_.Prune(kEverExpired), 0u);
  EXPECT_EQ(revived->key(), self_);
}

TEST_F(CredentialRaceTest, ACredentialDroppedWhileItIsTakenGivesNoReference) {
  cache_.Lookup(self_).value();
  Once("credential_cache:take-idle", [&] { EXPECT_EQ(cache_.Prune(kEverExpired), 1u); });
  rcu::ReadGuard guard;
  const CachedCredential* const borrowed = cache_.LookupNonblock(self_);
  ASSERT_NE(borrowed, nullptr);
  EXPECT_FALSE(cache_.TakeReference(borrowed));
  ASSERT_TRUE(reached_);
  EXPECT_EQ(borrowed->key(), self_);
}

TEST_F(CredentialRaceTest, TwoCreatorsOfOneCredentialEndWithOneObject) {
  CredentialRef quicker;
  Once("credential_cache:created", [&] { quicker = *cache_.Lookup(self_); });
  const CredentialRef slower = *cache_.Lookup(self_);
  ASSERT_TRUE(reached_);
  EXPECT_EQ(slower.get(), quicker.get());
  EXPECT_EQ(cache_.size(), 1u);
}

// CRED-6.
TEST(CredentialSetUpRaceTest, LookupsDuringASetUpWaitForItAndShareItsOutcome) {
  for (const std::errc outcome : {std::errc{}, std::errc::permission_denied}) {
    CredentialCache* self = nullptr;
    std::atomic<int> set_ups{0};
    std::expected<CredentialRef, std::errc> waited = CredentialRef();
    std::jthread waiter;
    CredentialCache cache({.entries_max = 10}, [&](const Credential& credential) {
      if (set_ups.fetch_add(1) == 0) {
        waiter = std::jthread([&, key = credential] { waited = self->Lookup(key); });
      }
      return outcome;
    });
    self = &cache;
    const auto first = cache.Lookup(Credential(1, 1));
    waiter.join();
    const auto second = std::exchange(waited, CredentialRef());  // must not outlive the cache
    EXPECT_EQ(first.has_value(), outcome == std::errc{});
    EXPECT_EQ(second.has_value(), outcome == std::errc{});
    if (first && second) {
      EXPECT_EQ(first->get(), second->get());
      EXPECT_EQ(set_ups, 1);
    }
  }
}

// Users with long group lists of equal length, so that comparisons read far (CRED-5).
std::vector<Credential> LongListedUsers(uint32_t count) {
  std::vector<Credential> users;
  for (uint32_t user = 0; user < count; ++user) {
    std::vector<uint32_t> groups(user % 2 == 0 ? 64 : 8, 9);
    groups.back() = user;
    users.emplace_back(1, 1, groups);
  }
  return users;
}

// Results of a torture thread, checked at the end.
struct Tally {
  std::atomic<uint64_t> hits{0}, misses{0}, wrong{0}, taken{0}, refused{0}, dropped{0};
};

constexpr int kRounds = 4000;
constexpr uint64_t kFloor = 100;
constexpr uint64_t kReadsMax = 20'000'000;

void ReadUntil(const std::atomic<bool>& done, CredentialCache& cache,
               const std::vector<Credential>& users, Tally& tally, unsigned seed) {
  std::minstd_rand random(seed);
  for (uint64_t i = 0; i < kReadsMax && !(done && tally.hits > kFloor && tally.taken > kFloor);
       ++i) {
    const Credential& user = users[random() % users.size()];
    CredentialRef taken;
    {
      rcu::ReadGuard guard;
      const CachedCredential* const found = cache.LookupNonblock(user);
      if (found == nullptr) {
        ++tally.misses;
        continue;
      }
      ++tally.hits;
      if (found->key() != user) ++tally.wrong;
      if (i % 8 != 0) continue;
      taken = cache.TakeReference(found);
      ++(taken ? tally.taken : tally.refused);
    }
    // A referenced credential is hashed: every lookup returns the same object.
    if (!taken) continue;
    rcu::ReadGuard guard;
    if (cache.LookupNonblock(user) != taken.get()) ++tally.wrong;
  }
}

// A lookup returns the whole credential of its key, also while it expires; a reference keeps it
// hashed. CRED-5.
TEST(CredentialTorture, ReadersNeverSeeAnotherOrAHalfFreedCredential) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const std::vector<Credential> users = LongListedUsers(6);
  CredentialCache cache({.entries_max = 4});
  Tally tally;
  std::atomic<bool> done{false};
  {
    std::vector<std::jthread> readers;
    for (unsigned i = 0; i < 2; ++i) {
      readers.emplace_back([&, i] { ReadUntil(done, cache, users, tally, seed + i); });
    }
    std::jthread creator([&] {
      std::minstd_rand random(seed + 10);
      const auto enough = [&] { return tally.hits > kFloor && tally.misses > 0; };
      for (int i = 0; i < kRounds || (!enough() && i < 100 * kRounds); ++i) {
        const CredentialRef reference = *cache.Lookup(users[random() % users.size()]);
        if (reference->key().uid() != 1) ++tally.wrong;
        if (i % 4 == 0) tally.dropped += cache.Prune(kEverExpired);
      }
      // Inserts again for the readers' last lookups.
      for (const Credential& user : users) cache.Lookup(user).value();
      done = true;
    });
  }
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_GT(tally.hits, kFloor);
  EXPECT_GT(tally.taken, kFloor);
  EXPECT_GT(tally.misses, 0u);
  EXPECT_GT(tally.dropped, kFloor);
}

}  // namespace
}  // namespace nfswalk::sunrpc_auth
