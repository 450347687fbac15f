// The client over every policy of its inode cache, against a real server.
#include "nfsclient/icache/inode_policy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/inode_caches.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using fixtures::MountedExport;

class InodePolicies : public MountedExport,
                      public testing::WithParamInterface<std::tuple<icache::InodePolicy, int>> {
 protected:
  int version() const override { return std::get<1>(GetParam()); }
  std::string Options() const {
    const icache::InodePolicy& policy = std::get<0>(GetParam());
    return "actimeo=600&inode_hash=" + std::string(icache::PolicyName(policy.hash)) +
           "&inode_list=" + std::string(icache::PolicyName(policy.list)) +
           "&inode_lru=" + std::string(icache::PolicyName(policy.lru));
  }
};

std::string PolicyAndVersion(
    const testing::TestParamInfo<std::tuple<icache::InodePolicy, int>>& test) {
  const auto& [policy, version] = test.param;
  return icache::InodePolicyTestName({policy, test.index}) + "_" + fixtures::VersionName(version);
}

INSTANTIATE_TEST_SUITE_P(Policies, InodePolicies,
                         testing::Combine(testing::ValuesIn(icache::AllInodePolicies()),
                                          fixtures::AllVersions()),
                         PolicyAndVersion);

// INODE-13.
TEST_P(InodePolicies, AgreeColdWarmAndAfterDropCaches) {
  auto client = Mount(Options());
  ASSERT_NE(client, nullptr);
  constexpr int kFiles = 200;
  for (int i = 0; i < kFiles; ++i) MakeFile(std::to_string(i), std::string(i, 'x'));
  for (const char* round : {"cold", "warm", "dropped"}) {
    for (int i = 0; i < kFiles; ++i) {
      auto attributes = client->Stat(Path(std::to_string(i)), root_);
      ASSERT_TRUE(attributes.has_value()) << round << " " << i;
      ASSERT_EQ(attributes->size_bytes, static_cast<uint64_t>(i)) << round;
    }
    if (std::string(round) == "warm") client->DropCaches();
  }
  ClientInternals::SuperblockOf(*client).background.Wait();
  client->DropCaches();
  EXPECT_LE(client->stats().inodes, 2u);  // the root, and the directory if still referenced
}

TEST_P(InodePolicies, HoldTheirLimitUnderThreadsThatCreateLookUpAndRemove) {
  auto client = Mount(Options() + "&inodes=100&dentries=100");
  ASSERT_NE(client, nullptr);
  std::atomic<int> wrong{0};
  std::array<uint64_t, 4> most = {};  // as each thread saw it
  std::vector<std::thread> threads;
  for (size_t t = 0; t < most.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string path = Path(std::to_string(t) + "-" + std::to_string(i));
        wrong += !client->Create(path, 0644, /*exclusive=*/false, root_).has_value();
        wrong += !client->Stat(path, root_).has_value();
        if (i % 2 == 0) wrong += client->Unlink(path, root_) != std::errc{};
        wrong += client->Stat(path, root_).has_value() != (i % 2 != 0);
        most[t] = std::max(most[t], client->stats().inodes);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  // A thread allocates a few before it gives others up.
  EXPECT_LE(std::ranges::max(most), 100 + 4 * most.size());
  EXPECT_GE(std::ranges::max(most), 90u);
}

TEST_P(InodePolicies, InvalidatedCachesAreRevalidated) {
  auto client = Mount(Options());
  ASSERT_NE(client, nullptr);
  MakeFile("file", "old");
  ASSERT_EQ(client->Stat(Path("file"), root_)->size_bytes, 3u);
  MakeFile("file", "newer");
  EXPECT_EQ(client->Stat(Path("file"), root_)->size_bytes, 3u) << "cached for 600 s";
  client->InvalidateCaches();
  EXPECT_EQ(client->Stat(Path("file"), root_)->size_bytes, 5u);
}

using InodePolicyMount = fixtures::VersionedExport;

INSTANTIATE_TEST_SUITE_P(Versions, InodePolicyMount, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(InodePolicyMount, AnInvalidCombinationIsRefusedWithAFix) {
  auto parsed = ParseMountUrl(server().Url("inode_hash=bit_rcu&inode_list=none", version()));
  ASSERT_TRUE(parsed.has_value());
  fixtures::NfsServer::NetworkScope scope(server());
  auto client = Client::Mount(*parsed);
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().error, std::errc::invalid_argument);
  EXPECT_NE(client.error().message.find("inode_list=none"), std::string::npos);
  EXPECT_NE(client.error().message.find("inode_hash=index"), std::string::npos);
}

TEST_P(InodePolicyMount, DontCacheEvictsOnlyWhatItInstantiated) {
  auto client = Mount("actimeo=600");
  ASSERT_NE(client, nullptr);
  constexpr int kFiles = 50;
  for (int i = 0; i < kFiles; ++i) MakeFile(std::to_string(i));
  ASSERT_TRUE(client->Stat(Path("0"), root_).has_value());  // cached by an ordinary stat
  const Stats before = client->stats();
  for (int i = 0; i < kFiles; ++i) {
    ASSERT_TRUE(client->Stat(Path(std::to_string(i)), root_, {.dont_cache = true}).has_value());
  }
  EXPECT_EQ(client->stats().dentries, before.dentries);
  EXPECT_EQ(client->stats().inodes, before.inodes);
  const uint64_t rpcs = client->stats().rpcs;
  EXPECT_TRUE(client->Stat(Path("0"), root_).has_value());
  EXPECT_EQ(client->stats().rpcs, rpcs);
}

}  // namespace
}  // namespace nfswalk
