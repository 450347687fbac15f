// Runs commands on what another user has planted in a directory of an export that is sticky and
// writable for all: none follows his link there, and none gives its data to his file.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "nfsclient/client.h"
#include "tests/integration/command_run.h"

namespace nfswalk {
namespace {

using testing::HasSubstr;

constexpr uid_t kOther = 2002;
constexpr const char* kShared = "mkdir -m 1777 shared";

class PlantedTest : public CommandRun {
 protected:
  void SetUp() override {
    CommandRun::SetUp();
    if (IsSkipped()) return;
    std::filesystem::create_directories(here_);
  }
  void TearDown() override { std::filesystem::remove_all(here_); }

  // shared/{file,directory,nowhere}, links of another user to secret files of root's.
  void Plant() const {
    Shell(std::string(kShared) +
          "; mkdir -m 700 victim; cd victim; echo secret > file; chmod 600 file; mkdir d; cd ..;"
          "ln -s ../victim/file shared/file; ln -s ../victim/d shared/directory;"
          "ln -s ../victim/new shared/nowhere;" +
          fmt::format("chown -h {} shared/*", kOther));
  }
  // All that is at the end of the links.
  std::string Victim() const {
    return Shell("cd victim; stat -c '%n %a %u %Y %s' file d; find . | sort; cat file");
  }
  std::string Here(const std::string& name) const { return (here_ / name).string(); }

  const std::filesystem::path here_ = std::filesystem::path(testing::TempDir()) / "planted";
};

INSTANTIATE_TEST_SUITE_P(Versions, PlantedTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(PlantedTest, NoCommandFollowsALink) {
  Plant();
  File("f", "mine");
  std::ofstream(Here("f")) << "mine";
  const std::string before = Victim();
  const Strings commands[] = {
      {"put", Url(), "shared/file"},
      {"put", "--append", Url(), "shared/file"},
      {"put", Url(), "shared/nowhere"},
      {"chmod", "-m", "777", Url(), "shared/file"},
      {"chmod", "-R", "-m", "777", Url(), "shared/file"},
      {"chmod", "-m", "777", Url(), "shared/directory"},
      {"chmod", "-m", "777", Url(), "shared/directory/"},
      {"touch", Url(), "shared/file"},
      {"touch", Url(), "shared/nowhere"},
      {"cat", Url(), "shared/file"},
      {"access", "-r", Url(), "shared/file"},
      {"stat", "-L", Url(), "shared/file"},
      {"ls", Url(), "shared/directory"},
      {"cp", Url(), "shared/file", Here("copy")},
      {"cp", Here("f"), Url(), "shared/directory"},
      {"cp", "-r", here_.string(), Url(), "shared/directory"},
      {"cp", Url(), "f", Url(), "shared/directory"},
      {"cp", Url(), "shared/file", Url(), "copy"},
      {"mv", Url(), "f", "shared/directory"},
      {"ln", "-s", Url(), "f", "shared/directory"},
      {"mkdir", "-p", Url(), "shared/directory/sub"},
  };
  for (const Strings& command : commands) {
    const std::string message = Refusal(command, 1);
    EXPECT_THAT(message, HasSubstr("Permission denied")) << testing::PrintToString(command);
  }
  EXPECT_EQ(Victim(), before);
  EXPECT_EQ(Shell("cd shared; ls; cd ..; ls; readlink shared/directory"),
            "directory\nfile\nnowhere\nf\nshared\nvictim\n../victim/d\n");
  EXPECT_EQ(Shell("cat f"), "mine");
  EXPECT_FALSE(std::filesystem::exists(Here("copy")));
  // These are about the links themselves.
  EXPECT_EQ(Run({"readlink", Url(), "shared/file"}).out, "../victim/file\n");
  EXPECT_EQ(Run({"rm", "-r", Url(), "shared"}).exit_code, 0);
  EXPECT_EQ(Victim(), before);
}

TEST_P(PlantedTest, ALinkInTheMiddleOfAPathIsFollowedAsByTheKernel) {
  Plant();
  EXPECT_EQ(Run({"touch", Url(), "shared/directory/x"}).exit_code, 0);
  EXPECT_EQ(Shell("ls victim/d"), "x\n");
}

TEST_P(PlantedTest, AMountMayFollowAll) {
  Plant();
  const std::string url = server_->Url("noprotected_symlinks", GetParam());
  EXPECT_EQ(Run({"cat", url, "shared/file"}).out, "secret\n");
  EXPECT_EQ(Run({"cp", url, "shared/file", Here("copy")}).exit_code, 0);
}

// The owner of the link follows it, and so does everybody the link of the directory's owner.
TEST_P(PlantedTest, ALinkOfOnesOwnIsFollowed) {
  Plant();
  Shell("chmod 755 victim; chmod 644 victim/file");
  EXPECT_EQ(Run({"cat", "--uid", std::to_string(kOther), Url(), "shared/file"}).out, "secret\n");
  EXPECT_EQ(Run({"cat", "--uid", "2001", Url(), "shared/file"}).exit_code, 1);
  Shell("chown -h 0 shared/file");
  EXPECT_EQ(Run({"cat", "--uid", "2001", Url(), "shared/file"}).out, "secret\n");
}

// As on this machine (CpReplaceTest.APlantedFileGivesItsRightsToNoCopy).
TEST_P(PlantedTest, AFileGivesItsRightsToNoCopy) {
  Shell(std::string(kShared) + fmt::format("; echo > shared/target; chown {0}:{0} shared/target;"
                                           "chmod 666 shared/target",
                                           kOther));
  std::ofstream(Here("f")) << "secret";
  std::filesystem::permissions(Here("f"), std::filesystem::perms::owner_read);
  EXPECT_EQ(Run({"cp", Here("f"), Url(), "shared/target"}).exit_code, 0);
  EXPECT_EQ(Shell("cd shared; stat -c '%a %u %g' target; cat target"), "400 0 0\nsecret");
}

}  // namespace
}  // namespace nfswalk
