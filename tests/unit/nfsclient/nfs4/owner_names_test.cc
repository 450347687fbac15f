#include "nfsclient/nfs4/owner_names.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nfsclient/nfs4/idmap_domain.h"
#include "nfsclient/nfs4/ttl_cache.h"
#include "rcu/sync_point.h"

namespace nfswalk::protocol {
namespace {

using std::chrono::minutes;
using std::chrono::nanoseconds;

const OwnerNames kNames("example.org");

uint32_t UidOf(std::string_view owner, const OwnerNames& names = kNames) {
  OwnerWait wait;
  return names.UidOf(owner, wait);
}
uint32_t GidOf(std::string_view group) {
  OwnerWait wait;
  return kNames.GidOf(group, wait);
}

TEST(OwnerNames, DecimalStringsAreTheId) {
  EXPECT_EQ(UidOf("0"), 0u);
  EXPECT_EQ(GidOf("1001"), 1001u);
  EXPECT_EQ(UidOf("4294967295"), 4294967295u);
}

// WIRE-15.
TEST(OwnerNames, NamesOfTheLocalDomainAreLookedUp) {
  EXPECT_EQ(UidOf("root@example.org"), 0u);
  EXPECT_EQ(GidOf("root@Example.ORG"), 0u);
  EXPECT_EQ(UidOf("root@example.org"), 0u) << "cached";
}

TEST(OwnerNames, MalformedNumbersAndForeignNamesAreNobody) {
  const auto expect_nobody = [](const std::string& owner) {
    EXPECT_EQ(UidOf(owner), kNobody) << owner.substr(0, 40);
    EXPECT_EQ(GidOf(owner), kNobody) << owner.substr(0, 40);
  };
  for (const char* owner : {"", "4294967296", "99999999999999999999", "-1", "+1", " 1", "1 ", "0x1",
                            "01", "00", "1.0", "1@", "1@example.org"}) {
    expect_nobody(owner);
  }
  for (const char* owner :
       {"root", "root@", "@example.org", "root@example.or", "root@example.orgs",
        "root@sub.example.org", "root@x@example.org", "no such user@example.org"}) {
    expect_nobody(owner);
  }
  expect_nobody(std::string("root\0@example.org", 17));
  expect_nobody(std::string(1 << 20, 'r') + "@example.org");
}

TEST(OwnerNames, IdsAreMappedToNamesOfTheLocalDomain) {
  EXPECT_EQ(kNames.NameOfUid(0), "root@example.org");
  EXPECT_EQ(kNames.NameOfGid(0), "root@example.org");
  EXPECT_EQ(kNames.NameOfUid(4123456789), "4123456789");
  EXPECT_EQ(kNames.NameOfGid(4123456789), "4123456789");
}

TEST(OwnerNames, DefaultToTheSystemsDomain) {
  const std::string domain = SystemIdmapDomain();
  ASSERT_FALSE(domain.empty());
  const OwnerNames names;
  EXPECT_EQ(UidOf("root@" + domain, names), 0u);
}

TEST(OwnerNames, AreThreadSafe) {
  std::vector<std::jthread> threads;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint32_t i = 0; i < 50; ++i) {
        EXPECT_EQ(UidOf("root@example.org"), 0u);
        EXPECT_EQ(GidOf("stranger" + std::to_string(i % 5) + "@example.org"), kNobody);
        EXPECT_EQ(kNames.NameOfUid(0), "root@example.org");
        EXPECT_EQ(UidOf(std::to_string(thread)), thread);
      }
    });
  }
}

// A directory service that does not answer before Answer(). Keeps its state alive for lookups that
// outlive the test.
class SlowDirectory {
 public:
  // `domain_is_slow`: the domain, too.
  AccountDatabase database(bool domain_is_slow = false) const {
    return {
        .domain =
            [state = state_, domain_is_slow] {
              if (domain_is_slow) state->answers.wait();
              return std::string("example.org");
            },
        .id_of = [state = state_](AccountDatabase::Kind,
                                  const std::string&) -> std::optional<uint32_t> {
          ++state->lookups;
          state->answers.wait();
          return 1000;
        },
        .name_of = [state = state_](AccountDatabase::Kind, uint32_t) -> std::optional<std::string> {
          ++state->lookups;
          state->answers.wait();
          return "user";
        }};
  }
  void Answer() { state_->answers.count_down(); }
  int lookups() const { return state_->lookups.load(); }

 private:
  struct State {
    std::latch answers{1};
    std::atomic<int> lookups{0};
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

// The wait of a call whose deadline has passed: it takes what is known.
class PassedDeadline {
  const CallDeadline deadline_{CallDeadline::Clock::now()};
};

TEST(SlowOwnerNames, AreNobodyUntilTheAnswerComesAndThatIsCached) {
  for (const bool domain_is_slow : {false, true}) {
    SlowDirectory directory;
    const OwnerNames names(domain_is_slow ? "" : "example.org", directory.database(domain_is_slow));
    {
      const PassedDeadline passed;
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(UidOf("user@example.org", names), kNobody);
        EXPECT_EQ(names.NameOfUid(1000), "1000");
      }
    }
    directory.Answer();
    EXPECT_EQ(UidOf("user@example.org", names), 1000u);
    EXPECT_EQ(names.NameOfUid(1000), "user@example.org");
    const PassedDeadline passed;
    EXPECT_EQ(UidOf("user@example.org", names), 1000u);
    EXPECT_EQ(names.NameOfUid(1000), "user@example.org");
    EXPECT_EQ(directory.lookups(), 2) << "one of each, however many ask";
  }
}

#ifndef NDEBUG
// The answer comes between the look at the cache and the look at the queue.
TEST(SlowOwnerNames, AreLookedUpOnceByTwoWhoAskAtTheSameTime) {
  SlowDirectory directory;
  directory.Answer();
  const OwnerNames names("example.org", directory.database());
  rcu::SyncPointScript::OnReach("owner_names:before-queue", [&] {
    rcu::SyncPointScript::ClearAll();
    EXPECT_EQ(UidOf("user@example.org", names), 1000u);
  });
  EXPECT_EQ(UidOf("user@example.org", names), 1000u);
  EXPECT_EQ(directory.lookups(), 1);
  rcu::SyncPointScript::OnReach("owner_names:before-queue", [&] {
    rcu::SyncPointScript::ClearAll();
    EXPECT_EQ(names.NameOfUid(1000), "user@example.org");
  });
  EXPECT_EQ(names.NameOfUid(1000), "user@example.org");
  EXPECT_EQ(directory.lookups(), 2);
}
#endif

TEST(SlowOwnerNames, NumbersDoNotWaitForThem) {
  SlowDirectory directory;
  const OwnerNames names("", directory.database(true));
  const PassedDeadline passed;
  EXPECT_EQ(UidOf("user@example.org", names), kNobody);
  EXPECT_EQ(UidOf("77", names), 77u);
  directory.Answer();
}

TEST(OwnerWait, IsOneForAllNamesAndNotBeyondTheDeadlineOfTheCall) {
  const auto now = OwnerWait::Clock::now();
  OwnerWait wait;
  const auto limit = wait.Limit();
  EXPECT_GE(limit, now + OwnerWait::kMax);
  EXPECT_EQ(wait.Limit(), limit);
  const CallDeadline deadline(now);
  EXPECT_EQ(OwnerWait().Limit(), now);
  EXPECT_EQ(wait.Limit(), limit) << "which has begun before";
}

// Without a deadline. The test would take a second for each name if only its own wait were bounded.
TEST(SlowOwnerNames, AreWaitedForByNobodyOnceTheServiceIsSlow) {
  SlowDirectory directory;
  const OwnerNames names("example.org", directory.database());
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(UidOf("user" + std::to_string(i) + "@example.org", names), kNobody);
  }
  directory.Answer();
}

TEST(SlowOwnerNames, LookupWithoutAnAnswerDoesNotBlockTheDestructor) {
  SlowDirectory directory;
  auto names = std::make_unique<OwnerNames>("example.org", directory.database());
  {
    const PassedDeadline passed;
    EXPECT_EQ(UidOf("user@example.org", *names), kNobody);
  }
  while (directory.lookups() == 0) std::this_thread::yield();
  names.reset();
  directory.Answer();
}

TEST(SlowOwnerNames, AFailureIsNotCached) {
  std::atomic<bool> fails{true};
  AccountDatabase database;
  database.id_of = [&](AccountDatabase::Kind, const std::string&) {
    return fails.load() ? std::nullopt : std::optional<uint32_t>(1000);
  };
  const OwnerNames names("example.org", database);
  EXPECT_EQ(UidOf("user@example.org", names), kNobody);
  fails.store(false);
  EXPECT_EQ(UidOf("user@example.org", names), 1000u);
}

TEST(IdmapDomain, IsDomainOfSectionGeneral) {
  EXPECT_EQ(ConfiguredIdmapDomain("[General]\nDomain = example.org\n"), "example.org");
  EXPECT_EQ(ConfiguredIdmapDomain(" [ general ]\r\nVerbosity = 0\r\n\tDOMAIN=a.b \r\n"), "a.b");
  EXPECT_EQ(ConfiguredIdmapDomain("[Translation]\nDomain = no\n[General]\nDomain = yes"), "yes");
}

TEST(IdmapDomain, IgnoresCommentsOtherSectionsAndEmptyValues) {
  for (const char* text :
       {"", "Domain = a", "[General]\n# Domain = a\n;Domain = a\n", "[Mapping]\nDomain = a\n",
        "[General\nDomain = a\n", "[]\n[", "[General]\nDomain =\n", "[General]\nDomain\n",
        "[General]\nDomains = a\n"}) {
    EXPECT_EQ(ConfiguredIdmapDomain(text), std::nullopt) << text;
  }
}

using Cache = TtlCache<std::string, int>;
constexpr Cache::Clock::time_point kNow{};

TEST(TtlCache, EntriesExpireAfterTenMinutes) {
  Cache cache;
  EXPECT_EQ(cache.Find("a", kNow), std::nullopt);
  cache.Store("a", 1, kNow);
  EXPECT_EQ(cache.Find("a", kNow), 1);
  EXPECT_EQ(cache.Find("a", kNow + minutes(10) - nanoseconds(1)), 1);
  EXPECT_EQ(cache.Find("a", kNow + minutes(10)), std::nullopt);
}

TEST(TtlCache, StoreReplacesTheValue) {
  Cache cache;
  cache.Store("a", 1, kNow);
  cache.Store("a", 2, kNow + minutes(9));
  EXPECT_EQ(cache.Find("a", kNow + minutes(18)), 2);
}

TEST(TtlCache, IsClearedWhenFull) {
  Cache cache;
  for (size_t i = 0; i < Cache::kEntriesMax; ++i) cache.Store(std::to_string(i), 1, kNow);
  EXPECT_EQ(cache.Find("0", kNow), 1);
  cache.Store("one too many", 1, kNow);
  EXPECT_EQ(cache.Find("0", kNow), std::nullopt);
  EXPECT_EQ(cache.Find("one too many", kNow), 1);
}

}  // namespace
}  // namespace nfswalk::protocol
