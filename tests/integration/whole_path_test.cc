// Cold paths over version 4 against a real server: as few calls as possible, and the same caches as
// single lookups leave.

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using fixtures::MountedExport;
using fixtures::NfsServer;

constexpr std::string_view kLasting = "actimeo=600";
constexpr std::string_view kSingle = "actimeo=600&nocompound";

class WholePath : public MountedExport {
 protected:
  int version() const override { return 4; }

  static uint64_t Rpcs(Client& client, auto&& call) {
    const uint64_t before = client.stats().rpcs;
    call();
    return client.stats().rpcs - before;
  }
  int StatError(Client& client, std::string_view path, const Credential& who) {
    auto attributes = client.Stat(path, who, {.no_follow = true});
    return attributes ? 0 : static_cast<int>(attributes.error());
  }
};

TEST_F(WholePath, AColdPathOfDepthEightIsOneRoundTrip) {
  // The test's own directory is the first of the eight.
  MakeDirectory("2/3/4/5/6/7");
  MakeFile("2/3/4/5/6/7/8", "text");
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(Rpcs(*client,
                 [&] {
                   auto attributes = client->Stat(Path("2/3/4/5/6/7/8"), root_);
                   ASSERT_TRUE(attributes.has_value());
                   EXPECT_EQ(attributes->size_bytes, 4u);
                 }),
            1u);
}

// For any end of a path, one COMPOUND leaves the caches as single lookups do.
TEST_F(WholePath, LeavesTheCachesAsSingleLookupsDo) {
  MakeDirectory("a/b/c/d");
  MakeFile("a/b/c/file");
  MakeFile("a/secret/file");
  MakeLink("b/c", "a/link");
  chmod(Backing("a/secret").c_str(), 0700);
  const std::string tree[] = {"a",         "a/b",         "a/b/c",     "a/b/c/d", "a/b/c/file",
                              "a/secret",  "a/link",      "a/missing", "a/b/x",   "a/link/d",
                              "a/b/c/d/x", "a/b/../link", ""};
  const std::string ends[] = {"a/b/c/file",   "a/b/c/d/",        "a/b/c/missing",    "a/b/x/y/z",
                              "a/b/c/file/x", "a/link/d",        "a/link/nothing/x", "a/b/./c//d",
                              "a/b/../b/c/d", "a/b/c/../../x/y", "a/secret/file"};
  for (const std::string& end : ends) {
    for (const Credential& who : {Credential(0, 0), Credential(1001, 1001)}) {
      auto whole = Mount(kLasting);
      auto single = Mount(kSingle);
      ASSERT_TRUE(whole && single);
      int whole_error = 0;
      int single_error = 0;
      const auto whole_rpcs =
          Rpcs(*whole, [&] { whole_error = StatError(*whole, Path(end), who); });
      const auto single_rpcs =
          Rpcs(*single, [&] { single_error = StatError(*single, Path(end), who); });
      EXPECT_EQ(whole_error, single_error) << end;
      EXPECT_LT(whole_rpcs, single_rpcs) << end;
      // Everything cached by single lookups is cached, with the same values.
      for (const std::string& path : tree) {
        const ResolveFlags cached{.no_follow = true, .cached = true};
        const auto expected = single->Stat(Path(path), who, cached);
        if (!expected && expected.error() == std::errc::resource_unavailable_try_again) continue;
        const auto found = whole->Stat(Path(path), who, cached);
        EXPECT_EQ(found.has_value(), expected.has_value()) << end << ": " << path;
        if (found && expected) {
          EXPECT_EQ(*found, *expected) << path;
        }
        if (!found && !expected) {
          EXPECT_EQ(found.error(), expected.error()) << end << ": " << path;
        }
      }
    }
  }
}

TEST_F(WholePath, TheEndOfAFailedPathIsCached) {
  MakeDirectory("a/b/closed/c");
  chmod(Backing("a/b/closed").c_str(), 0700);
  MakeFile("a/b/file");
  const Credential user(1001, 1001);
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  const std::vector<std::pair<std::string, int>> ends = {
      {"a/b/missing/c/d", ENOENT}, {"a/b/closed/c", EACCES}, {"a/b/file/c", ENOTDIR}};
  for (const auto& [path, error] : ends) {
    client->DropCaches();
    EXPECT_EQ(Rpcs(*client, [&] { EXPECT_EQ(StatError(*client, Path(path), user), error); }), 1u)
        << path;
    EXPECT_EQ(Rpcs(*client, [&] { EXPECT_EQ(StatError(*client, Path(path), user), error); }), 0u)
        << path;
  }
}

TEST_F(WholePath, ALinkCostsAReadlinkAndTheRestOfThePath) {
  MakeDirectory("a/b/c/d");
  MakeLink("b/c", "a/link");
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(Rpcs(*client, [&] { EXPECT_EQ(StatError(*client, Path("a/link/d"), root_), 0); }), 3u);
}

TEST_F(WholePath, TheServersLimitOfOperationsIsLearnedOnce) {
  constexpr uint64_t kNames = 61;  // with the test's directory
  std::string deep = "d";
  for (uint64_t i = 2; i < kNames; ++i) deep += "/d";
  MakeDirectory(deep);
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  // Four operations a name, and four more: PUTFH and the attributes of where a call begins.
  const uint64_t names_a_call = (server().properties().compound_operations_max - 4) / 4;
  const uint64_t calls = (kNames + names_a_call - 1) / names_a_call;
  constexpr int kWalks = 10;
  uint64_t sent = 0;
  uint64_t last = 0;
  for (int i = 0; i < kWalks; ++i) {
    client->DropCaches();
    last = Rpcs(*client, [&] { EXPECT_EQ(StatError(*client, Path(deep), root_), 0); });
    sent += last;
  }
  EXPECT_EQ(last, calls);
  constexpr uint64_t kRefusedMax = 8;
  EXPECT_LE(sent, kWalks * calls + kRefusedMax);
}

TEST_F(WholePath, LongNamesAreSplitOverSeveralCalls) {
  std::string deep;
  for (int i = 0; i < 15; ++i) deep += (deep.empty() ? "" : "/") + std::string(200, 'n');
  MakeDirectory(deep);
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  EXPECT_LE(Rpcs(*client, [&] { EXPECT_EQ(StatError(*client, Path(deep), root_), 0); }), 2u);
}

TEST_F(WholePath, AnExpiredPathIsRevalidatedInOneCall) {
  MakeDirectory("a/b/c");
  MakeFile("a/b/c/file");
  auto client = Mount(kLasting);
  ASSERT_NE(client, nullptr);
  ASSERT_EQ(StatError(*client, Path("a/b/c/file"), root_), 0);
  client->InvalidateCaches();
  EXPECT_EQ(Rpcs(*client, [&] { EXPECT_EQ(StatError(*client, Path("a/b/c/file"), root_), 0); }),
            1u);
}

// A second file system on the server, mounted inside of the export: another fsid.
TEST(MountCrossing, LookupsCrossIntoTheOtherFileSystemAndBack) {
  auto server = NfsServer::Start({.inner_file_system = true});
  ASSERT_TRUE(server.has_value()) << server.error();
  const std::string inner(NfsServer::inner_directory());
  const std::string backing = (*server)->backing_directory();
  std::ofstream(backing + "/outside") << "out";
  auto client = [&] {
    const NfsServer::NetworkScope scope(**server);
    return Client::Mount(*ParseMountUrl((*server)->Url(kLasting, 4)));
  }();
  ASSERT_TRUE(client.has_value()) << client.error().message;
  const Credential root(0, 0);
  ASSERT_TRUE((*client)->Create(inner + "/made", 0644, true, root).has_value());
  const auto top = (*client)->Stat("/", root);
  const auto crossed = (*client)->Stat(inner, root);
  const auto made = (*client)->Stat(inner + "/made", root);
  const auto back = (*client)->Stat(inner + "/../outside", root);
  ASSERT_TRUE(top && crossed && made && back);
  EXPECT_NE(crossed->fsid, top->fsid);
  EXPECT_EQ(made->fsid, crossed->fsid);
  EXPECT_EQ(back->fsid, top->fsid);
  EXPECT_EQ(back->size_bytes, 3u);
  EXPECT_EQ((*client)->Rename("outside", inner + "/outside", root), std::errc::cross_device_link);
  EXPECT_EQ((*client)->Link("outside", inner + "/outside", root), std::errc::cross_device_link);
  // READDIR returns the fileid of the directory that is mounted on, as d_ino does, and the
  // attributes of the mounted root.
  bool listed = false;
  EXPECT_EQ((*client)->ReadDir("/", root,
                               [&](const DirectoryEntry& entry) {
                                 if (entry.name != inner) return true;
                                 listed =
                                     entry.attributes && entry.attributes->fsid == crossed->fsid;
                                 return false;
                               }),
            std::errc{});
  EXPECT_TRUE(listed);
}

}  // namespace
}  // namespace nfswalk
