// One export under several spellings of its source: each is a client of its own, which sees what is
// done through the others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "nfsclient/client.h"
#include "nfsclient/mount/mount_table.h"
#include "tests/integration/mount_pair.h"

namespace nfswalk {
namespace {

struct Spelling {
  std::string source;
  bool names_the_host_alike = true;  // as that of the first mount, which is known to be the same
  std::string below = "";            // what it mounts of the export
};
const Spelling kSpellings[] = {
    {"nfs://127.0.0.1/export/"},
    {"NFS://127.0.0.1//export"},
    {"127.0.0.1:/export"},
    {"nfs://LocalHost:2049/export", false},
    {"nfs://127.0.0.1/export/below/", false, "below/"},
};

class MountSpellingsTest : public MountPair {
 protected:
  std::string Options() const { return fmt::format("vers={},actimeo=1", GetParam()); }
  static int StatError(const std::string& path) {
    struct stat found{};
    return ErrorOf(lstat(path.c_str(), &found));
  }
  static std::string SourceOn(const std::string& directory) {
    std::ifstream table("/proc/self/mountinfo");
    return mount::SourceMountedOn(table, directory);
  }
};

// Returns once a change of this directory, on the server, has another time than the last one: the
// clock of a file system may stand still for milliseconds (ATTR-5).
void AwaitTick(const std::string& backing) {
  const auto change_time = [](const std::string& path) {
    const timespec time = StatOf(path).st_ctim;
    return std::pair(time.tv_sec, time.tv_nsec);
  };
  const std::string probe = backing + "/.probe";
  do {
    ASSERT_EQ(WriteText(probe, ""), 0);
  } while (change_time(probe) <= change_time(backing));
}

// Expects that the mount at `there` shows changes made at `here` within its lifetimes.
void ExpectSeen(const std::string& backing, const std::string& here, const std::string& there) {
  const auto has = [&](const std::string& name, int error) {
    struct stat found{};
    return Eventually([&] { return ErrorOf(lstat((there + name).c_str(), &found)) == error; });
  };
  AwaitTick(backing);
  ASSERT_EQ(WriteText(here + "f", "text"), 0);
  EXPECT_TRUE(has("f", 0));
  EXPECT_EQ(TextOf(there + "f"), "text");
  ASSERT_EQ(WriteText(here + "f", "longer text"), 0);
  EXPECT_EQ(TextOf(there + "f"), "longer text") << "close-to-open";
  AwaitTick(backing);
  ASSERT_EQ(ErrorOf(rename((here + "f").c_str(), (here + "g").c_str())), 0);
  EXPECT_TRUE(has("g", 0));
  EXPECT_TRUE(has("f", ENOENT));
  ASSERT_EQ(ErrorOf(unlink((there + "g").c_str())), 0);
}

TEST_P(MountSpellingsTest, EachMountSeesWhatIsDoneThroughTheOther) {
  Directory("below");
  MountUrl("nfs://127.0.0.1/export", Options());
  for (const Spelling& spelling : kSpellings) {
    SCOPED_TRACE(spelling.source);
    MountOther(spelling.source, Options());
    EXPECT_EQ(SourceOn(other_point()), spelling.source) << "as fstab has it";
    ExpectSeen(Backing(spelling.below), At(spelling.below), Other(""));
    ExpectSeen(Backing(spelling.below), Other(""), At(spelling.below));
    // Each is counted by itself, and shown once.
    const ProgramRun stats =
        Run({"stats", "--json", mount_point(), other_point(), mount_point()});
    EXPECT_EQ(stats.exit_code, 0) << stats.err;
    const auto counts = Objects(stats);
    ASSERT_EQ(counts.size(), 2u);
    EXPECT_EQ(counts[0].at("path"), mount_point());
    EXPECT_EQ(counts[1].at("path"), other_point());
    EXPECT_GT(counts[1].at("fuse_requests_total").value("LOOKUP", 0), 0);
    UnmountOther();
  }
}

TEST_P(MountSpellingsTest, ADirectoryHasTheExportOnceHoweverItIsSpelled) {
  MountUrl("nfs://127.0.0.1/export", Options() + ",nonempty");
  for (const Spelling& spelling : kSpellings) {
    if (!spelling.names_the_host_alike) continue;
    EXPECT_THAT(Refusal({"mount", "-o", Options() + ",nonempty", spelling.source, mount_point()}, 1),
                testing::HasSubstr("nfs://127.0.0.1/export is mounted there already"))
        << spelling.source;
  }
}

TEST_P(MountSpellingsTest, EachClientSeesWhatIsDoneThroughTheOther) {
  Directory("below");
  const Credential root(0, 0);
  const auto mount = [&](std::string_view url) {
    auto options = ParseMountUrl(fmt::format("{}?vers={}&actimeo=1", url, GetParam()));
    EXPECT_TRUE(options.has_value()) << url;
    auto client = Client::Mount(*options);
    EXPECT_TRUE(client.has_value()) << url << ": " << client.error().message;
    return client ? std::move(*client) : nullptr;
  };
  const std::unique_ptr<Client> first = mount("nfs://127.0.0.1/export");
  ASSERT_NE(first, nullptr);
  for (const Spelling& spelling : kSpellings) {
    if (spelling.source.find("://") == std::string::npos) continue;  // of the command alone
    SCOPED_TRACE(spelling.source);
    const std::unique_ptr<Client> second = mount(spelling.source);
    ASSERT_NE(second, nullptr);
    const std::string name = spelling.below + "f";
    const auto has = [&](std::errc error) {
      return Eventually([&] {
        const auto found = second->Stat("f", root);
        return (found ? std::errc{} : found.error()) == error;
      });
    };
    EXPECT_TRUE(has(std::errc::no_such_file_or_directory));
    const auto made = first->Create(name, 0644, true, root);
    ASSERT_TRUE(made.has_value());
    EXPECT_TRUE(has({}));
    EXPECT_EQ(second->Stat("f", root)->fileid, made->attributes.fileid);
    ASSERT_EQ(second->Rename("f", "g", root), std::errc{});
    EXPECT_TRUE(Eventually([&] { return !first->Stat(name, root).has_value(); }));
    EXPECT_EQ(first->Unlink(spelling.below + "g", root), std::errc{});
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, MountSpellingsTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
