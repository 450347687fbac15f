#include "nfsclient/protocol/nfs4_owner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/protocol/idmap_domain.h"
#include "nfsclient/protocol/ttl_cache.h"

namespace nfswalk::protocol {
namespace {

using std::chrono::minutes;
using std::chrono::nanoseconds;

const OwnerNames kNames("example.org");

TEST(OwnerNames, DecimalStringsAreTheId) {
  EXPECT_EQ(kNames.UidOf("0"), 0u);
  EXPECT_EQ(kNames.GidOf("1001"), 1001u);
  EXPECT_EQ(kNames.UidOf("4294967295"), 4294967295u);
}

// WIRE-15.
TEST(OwnerNames, NamesOfTheLocalDomainAreLookedUp) {
  EXPECT_EQ(kNames.domain(), "example.org");
  EXPECT_EQ(kNames.UidOf("root@example.org"), 0u);
  EXPECT_EQ(kNames.GidOf("root@Example.ORG"), 0u);
  EXPECT_EQ(kNames.UidOf("root@example.org"), 0u) << "cached";
}

TEST(OwnerNames, MalformedNumbersAndForeignNamesAreNobody) {
  const auto expect_nobody = [](const std::string& owner) {
    EXPECT_EQ(kNames.UidOf(owner), kNobody) << owner.substr(0, 40);
    EXPECT_EQ(kNames.GidOf(owner), kNobody) << owner.substr(0, 40);
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
  const OwnerNames names;
  ASSERT_FALSE(names.domain().empty());
  EXPECT_EQ(names.UidOf("root@" + names.domain()), 0u);
}

TEST(OwnerNames, AreThreadSafe) {
  std::vector<std::jthread> threads;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint32_t i = 0; i < 50; ++i) {
        EXPECT_EQ(kNames.UidOf("root@example.org"), 0u);
        EXPECT_EQ(kNames.GidOf("stranger" + std::to_string(i % 5) + "@example.org"), kNobody);
        EXPECT_EQ(kNames.NameOfUid(0), "root@example.org");
        EXPECT_EQ(kNames.UidOf(std::to_string(thread)), thread);
      }
    });
  }
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
