// Paths against a real server, in every walk mode: RPCs, caches and what no system call can be
// asked. That every result is the kernel's is compared in tests/differential.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <tuple>

#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using fixtures::MountedExport;

class Walk : public MountedExport,
             public testing::WithParamInterface<std::tuple<std::string, int>> {
 protected:
  void SetUp() override {
    MountedExport::SetUp();
    if (IsSkipped()) return;
    client_ = Mount("actimeo=600&walk=" + mode());
    ASSERT_NE(client_, nullptr);
  }

  std::string mode() const { return std::get<0>(GetParam()); }
  int version() const override { return std::get<1>(GetParam()); }
  bool rcu() const { return mode() != "ref"; }

  int StatError(std::string_view path, ResolveFlags flags = {}) {
    auto attributes = client_->Stat(path, root_, flags);
    return attributes ? 0 : static_cast<int>(attributes.error());
  }

  // Expects the same result cold and warm.
  void ExpectStat(std::string_view path, int error, ResolveFlags flags = {}) {
    EXPECT_EQ(StatError(path, flags), error) << path << " cold";
    EXPECT_EQ(StatError(path, flags), error) << path << " warm";
  }

  std::unique_ptr<Client> client_;
};

INSTANTIATE_TEST_SUITE_P(Modes, Walk,
                         testing::Combine(testing::Values("ref", "rcu-locked", "rcu-peek",
                                                          "rcu-search"),
                                          fixtures::AllVersions()),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param);
                           std::erase(name, '-');
                           return name + "_" + fixtures::VersionName(std::get<1>(test.param));
                         });

TEST_P(Walk, WarmCallsAreRcuWalksWithoutRpcs) {
  MakeDirectory("a/b/c");
  MakeFile("a/b/c/file");
  MakeLink("b/c", "a/link");
  auto all = [&] {
    EXPECT_EQ(StatError(Path("a/b/c/file")), 0);
    EXPECT_EQ(StatError(Path("a/link/file")), 0);
    EXPECT_EQ(StatError(Path("a/b/../link/../c/missing")), ENOENT);
    EXPECT_EQ(StatError(Path("a/link"), {.no_follow = true}), 0);
    EXPECT_EQ(client_->Access(Path("a/b/c/file"), kMayRead, root_), std::errc{});
    EXPECT_EQ(ReadLink(*client_, Path("a/link"), root_), "b/c");
  };
  all();
  Stats before = client_->stats();
  constexpr int kRounds = 10;
  for (int i = 0; i < kRounds; ++i) all();
  Stats after = client_->stats();
  EXPECT_EQ(after.rpcs, before.rpcs);
  EXPECT_EQ(after.rcu_walks - before.rcu_walks, rcu() ? 6u * kRounds : 0u);
  EXPECT_EQ(after.ref_walks - before.ref_walks, rcu() ? 0u : 6u * kRounds);
}

TEST_P(Walk, NamesOfEveryLengthAreDistinct) {
  for (size_t length = 1; length <= 80; ++length) {
    std::string name(length, 'x');
    MakeFile(name, name);
  }
  for (int warm = 0; warm < 2; ++warm) {
    for (size_t length = 1; length <= 80; ++length) {
      std::string name(length, 'x');
      auto attributes = client_->Stat(Path(name), root_);
      ASSERT_TRUE(attributes.has_value()) << length;
      EXPECT_EQ(attributes->size_bytes, length);
      name.back() = 'y';
      EXPECT_EQ(StatError(Path(name)), ENOENT) << length;
    }
  }
}

TEST_P(Walk, ANulInAPathIsEINVAL) { ExpectStat(std::string_view("a\0b", 3), EINVAL); }

TEST_P(Walk, CachedSendsNoRpc) {
  MakeFile("file");
  uint64_t rpcs = client_->stats().rpcs;
  EXPECT_EQ(StatError(Path("file"), {.cached = true}), EAGAIN);
  EXPECT_EQ(client_->stats().rpcs, rpcs);
  EXPECT_EQ(StatError(Path("file")), 0);
  rpcs = client_->stats().rpcs;
  EXPECT_EQ(StatError(Path("file"), {.cached = true}), rcu() ? 0 : EAGAIN);
  EXPECT_EQ(client_->stats().rpcs, rpcs);
}

TEST_P(Walk, StrictGivesTheSameAnswers) {
  MakeDirectory("a/b");
  MakeFile("a/b/file");
  MakeLink("b", "a/link");
  const int ok = rcu() ? 0 : EAGAIN;  // strict needs RCU-walk
  ExpectStat(Path("a/link/file"), ok, {.strict = true});
  if (rcu()) ExpectStat(Path("a/b/missing"), ENOENT, {.strict = true});
}

TEST_P(Walk, AStrictWalkTakesPathsOfFullLength) {
  if (!rcu()) GTEST_SKIP() << "strict needs RCU-walk";
  std::string deep = "d";
  for (int i = 1; i < 300; ++i) deep += "/d";
  MakeDirectory(deep);
  MakeFile(deep + "/file");
  ExpectStat(Path(deep + "/file"), 0, {.strict = true});
  std::string dots;
  while (dots.size() < 3900) dots += "./";
  ExpectStat(Path(dots + "d"), 0, {.strict = true});
  // A link text in a link text in a path: more than the walk's buffer holds.
  MakeLink("d", "inner");
  MakeLink("inner/" + dots, "middle");
  MakeLink("middle/" + dots, "outer");
  ExpectStat(Path("outer/" + dots), 0, {.strict = true});
}

// WALK-7.
TEST_P(Walk, SearchPermissionIsTheServers) {
  MakeDirectory("closed/inner");
  MakeFile("closed/inner/file");
  chmod(Backing("closed").c_str(), 0700);
  const Credential other(1001, 1001), member(1002, 1002, {5, 0});
  chown(Backing("closed").c_str(), 1002, 1002);
  for (int warm = 0; warm < 2; ++warm) {
    auto denied = client_->Stat(Path("closed/inner/file"), other);
    ASSERT_FALSE(denied.has_value());
    EXPECT_EQ(denied.error(), std::errc::permission_denied);
    // Denied before the name is checked (WALK-7).
    denied = client_->Stat(Path("closed/" + std::string(256, 'n')), other);
    ASSERT_FALSE(denied.has_value());
    EXPECT_EQ(denied.error(), std::errc::permission_denied);
    EXPECT_TRUE(client_->Stat(Path("closed/inner/file"), member).has_value());
    // A trailing slash needs no search permission on the directory itself.
    EXPECT_TRUE(client_->Stat(Path("closed/"), other).has_value());
    EXPECT_FALSE(client_->Stat(Path("closed/."), other).has_value());
  }
}

TEST_P(Walk, CredentialsInTurnGetTheirOwnRights) {
  MakeFile("secret", "x");
  chmod(Backing("secret").c_str(), 0640);
  chown(Backing("secret").c_str(), 1001, 2000);
  const Credential owner(1001, 1), group(1002, 1, {7, 2000}), other(1003, 1, {7, 2001});
  Stats before;
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(client_->Access(Path("secret"), kMayWrite, owner), std::errc{});
    EXPECT_EQ(client_->Access(Path("secret"), kMayRead, group), std::errc{});
    EXPECT_EQ(client_->Access(Path("secret"), kMayWrite, group), std::errc::permission_denied);
    EXPECT_EQ(client_->Access(Path("secret"), kMayRead, other), std::errc::permission_denied);
    if (round == 0) before = client_->stats();
  }
  EXPECT_EQ(client_->stats().rpcs, before.rpcs);
}

TEST_P(Walk, LookupcachePositiveKeepsNoNegativeDentries) {
  auto client = Mount("actimeo=600&lookupcache=pos&walk=" + mode());
  EXPECT_FALSE(client->Stat(Path("new"), root_).has_value());
  MakeFile("new");
  EXPECT_TRUE(client->Stat(Path("new"), root_).has_value());
}

}  // namespace
}  // namespace nfswalk
