// Errors while an export is withdrawn from the server or replaced, and recovery.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/faults/tree_check.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk::faults {
namespace {

constexpr std::errc kStale{ESTALE};

std::errc ErrorOfRead(File& file) {
  std::array<std::byte, 8> bytes;
  const auto count = file.PRead(bytes, 0);
  return count ? kOk : count.error();
}

class ServerExport : public fixtures::MountedExport {
 protected:
  using Call = std::pair<const char*, std::function<std::errc(Client&)>>;

  void SetUp() override {
    MountedExport::SetUp();
    if (!IsSkipped()) MakeTree();
  }
  void MakeTree() const {
    MakeDirectory("d/inner");
    MakeFile("d/f", "text");
    MakeLink("f", "d/link");
  }

  // Calls that need the server. None has an effect where it is refused; all together have none
  // either.
  std::vector<Call> CallsToTheServer() const {
    const auto error = [](const auto& result) { return result ? kOk : result.error(); };
    return {
        {"ReadDir",
         [this](Client& c) {
           return c.ReadDir(Path("d"), root_, [](const auto&) { return true; });
         }},
        {"Create",
         [=, this](Client& c) { return error(c.Create(Path("d/new"), 0644, true, root_)); }},
        {"Open", [=, this](Client& c) { return error(c.Open(Path("d/f"), kMayRead, root_)); }},
        {"Rename", [this](Client& c) { return c.Rename(Path("d/new"), Path("d/newer"), root_); }},
        {"Link", [this](Client& c) { return c.Link(Path("d/f"), Path("d/more"), root_); }},
        {"SetAttributesOf",
         [=, this](Client& c) {
           return error(c.SetAttributesOf(Path("d/f"), {.mode = 0644}, root_));
         }},
        {"Unlink", [this](Client& c) { return c.Unlink(Path("d/newer"), root_); }},
        {"Unlink", [this](Client& c) { return c.Unlink(Path("d/more"), root_); }},
        {"MakeDirectory",
         [=, this](Client& c) { return error(c.MakeDirectory(Path("d/dir"), 0755, root_)); }},
        {"RemoveDirectory", [this](Client& c) { return c.RemoveDirectory(Path("d/dir"), root_); }},
        {"Stat", [=, this](Client& c) { return error(c.Stat(Path("d/inner/."), root_)); }},
    };
  }
  void ExpectAll(Client& client, std::errc expected, const std::string& when) const {
    for (const auto& [name, call] : CallsToTheServer()) {
      EXPECT_EQ(call(client), expected) << name << " " << when;
    }
  }
  std::errc StatError(Client& client, const std::string& path) const {
    const auto found = client.Stat(path, root_);
    return found ? kOk : found.error();
  }
};

class WithdrawnExport : public ServerExport,
                        public testing::WithParamInterface<std::tuple<int, bool>> {
 protected:
  int version() const override { return std::get<0>(GetParam()); }

  // Returns once the server has applied it.
  void Withdraw(Client& client, bool withdrawn) {
    server().Withdraw(withdrawn);
    const bool restart = std::get<1>(GetParam());
    if (restart) server().Kill();
    ASSERT_EQ(restart ? server().Restart() : server().Reload(), "");
    const auto list = [&] {
      return client.ReadDir(Path("d"), root_, [](const auto&) { return true; });
    };
    for (std::errc error = list(); (error == kOk) == withdrawn; error = list()) {
      // nfs-ganesha may say so while it takes the export back, and the client believes it.
      if (error == std::errc::no_such_file_or_directory) client.InvalidateCaches();
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, WithdrawnExport,
                         testing::Combine(fixtures::AllVersions(), testing::Bool()),
                         [](const auto& test) {
                           return fixtures::VersionName(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) ? "ByARestart" : "ByAReload");
                         });

TEST_P(WithdrawnExport, IsESTALEUntilItReturns) {
  const auto client = Mount("actimeo=600");
  ASSERT_NE(client, nullptr);
  ExpectAll(*client, kOk, "at first");
  EXPECT_EQ(StatError(*client, Path("d/f")), kOk);
  auto held = client->Open(Path("d/f"), kMayRead, root_);
  ASSERT_TRUE(held.has_value());

  ASSERT_NO_FATAL_FAILURE(Withdraw(*client, true));
  ExpectAll(*client, kStale, "without the export");
  const std::errc of_open_file = ErrorOfRead(**held);
  EXPECT_TRUE(of_open_file == kStale || of_open_file == std::errc::io_error);
  client->InvalidateCaches();
  for (const std::string& path : {std::string("/"), Path("d"), Path("d/f"), Path("d/none")}) {
    EXPECT_EQ(StatError(*client, path), kStale) << path << " is revalidated";
  }
  client->DropCaches();
  ExpectAll(*client, kStale, "without export and caches");

  ASSERT_NO_FATAL_FAILURE(Withdraw(*client, false));
  EXPECT_EQ(StatError(*client, "/"), kOk);
  ExpectAll(*client, kOk, "with the export again");
  held = client->Open(Path("d/f"), kMayRead, root_);
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(ErrorOfRead(**held), kOk);
  EXPECT_EQ(ExpectSameTree(*client, Path("d"), Backing("d"), "at the end"), 4);
}

TEST_P(WithdrawnExport, IsReportedByALaterMount) {
  const auto client = Mount("");
  ASSERT_NE(client, nullptr);
  ASSERT_NO_FATAL_FAILURE(Withdraw(*client, true));
  {
    const fixtures::NfsServer::NetworkScope inside(server());
    const auto late = Client::Mount(*ParseMountUrl(server().Url("", version())));
    ASSERT_FALSE(late.has_value());
    // nfs-ganesha's MOUNT does not reveal which exports exist.
    EXPECT_EQ(late.error().error,
              version() == 3 ? std::errc::permission_denied : std::errc::no_such_file_or_directory);
    EXPECT_NE(late.error().message.find(server().export_path()), std::string::npos);
  }
  ASSERT_NO_FATAL_FAILURE(Withdraw(*client, false));
}

class ReplacedTree : public ServerExport, public testing::WithParamInterface<int> {
 protected:
  int version() const override { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Versions, ReplacedTree, fixtures::AllVersions(),
                         fixtures::VersionTestName);

// Names lead to other files after the restart: old handles are stale, and their names are looked up
// again although cached for long.
TEST_P(ReplacedTree, StaleNamesAreLookedUpAgain) {
  const auto client = Mount("actimeo=600");
  ASSERT_NE(client, nullptr);
  ExpectAll(*client, kOk, "at first");
  ExpectSameTree(*client, Path("d"), Backing("d"), "at first");
  server().Kill();  // nfs-ganesha keeps files open whose handles it sent
  std::filesystem::remove_all(Backing("d"));
  MakeTree();
  ASSERT_EQ(server().Restart(), "");
  ExpectAll(*client, kOk, "with the new tree");
  client->InvalidateCaches();
  EXPECT_EQ(ExpectSameTree(*client, Path("d"), Backing("d"), "with the new tree"), 4);
}

// The root's handle is stale as well: as with a kernel's mount, only a new mount helps.
TEST_P(ReplacedTree, WithItsFileSystemIsESTALEUntilMountedAgain) {
  server().Kill();
  ASSERT_EQ(server().ReplaceFileSystem(), "");
  ASSERT_EQ(server().Restart(), "");
  MakeTree();
  const auto client = Mount("");
  ASSERT_NE(client, nullptr);
  ExpectAll(*client, kOk, "of its own");
  server().Kill();
  ASSERT_EQ(server().ReplaceFileSystem(), "");
  ASSERT_EQ(server().Restart(), "");
  MakeTree();
  ExpectAll(*client, kStale, "of another's");
  client->InvalidateCaches();
  EXPECT_EQ(StatError(*client, "/"), kStale);
  client->DropCaches();
  ExpectAll(*client, kStale, "of another's, without caches");
  const auto later = Mount("");
  ASSERT_NE(later, nullptr);
  ExpectAll(*later, kOk, "of its own");
}

}  // namespace
}  // namespace nfswalk::faults
