// `nfswalk find` and `nfswalk du`, compared with findutils and coreutils on the backing directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/integration/command_run.h"

namespace nfswalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TreeCommandTest : public CommandRun {
 protected:
  void SetUp() override {
    CommandRun::SetUp();
    if (IsSkipped()) return;
    Shell(
        "mkdir -p d/one/two/three d/empty d/other 'd/with space'\n"
        "for i in $(seq 40); do mkdir d/other/$i; echo $i > d/other/$i/File$i.h; done\n"
        "head -c 5000 /dev/zero > d/one/large.c; head -c 1024 /dev/zero > d/one/two/exact.c\n"
        "head -c 3000000 /dev/zero > d/one/two/three/huge; : > d/one/none\n"
        "touch -d '2001-01-01 00:00:00.25' d/one/large.c\n"
        "touch -d '2001-01-01 00:00:00.5' d/stamp\n"
        "ln d/one/large.c d/one/again; ln d/one/large.c d/other/third; ln -s one d/link\n"
        "mkfifo d/fifo");
  }

  void ExpectAsFind(const std::string& paths) const {
    ExpectAs("set -f; find", "find", "", paths, true);
  }
  void ExpectAsDu(const std::string& flags, const std::string& paths) const {
    ExpectAs("du", "du", flags, paths, true);
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, TreeCommandTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(TreeCommandTest, FindPrintsWhatFindutilsPrints) {
  for (const char* words : {"d",
                            ".",
                            "",
                            "d/one d/other",
                            "d -name *.h",
                            "d -iname file1*",
                            "d -path */two/*",
                            "d -type d",
                            "d -type f,l",
                            "d -type p",
                            "d -size 10",
                            "d -size +4k",
                            "d -size -2k",
                            "d -size 1024c",
                            "d -size +2M",
                            "d -size 0",
                            "d -newer d/stamp",
                            "d -mindepth 2",
                            "d -mindepth 1 -maxdepth 2",
                            "d -maxdepth 0",
                            "d -type f -name *.c -size +1k"}) {
    ExpectAsFind(words);
  }
}

TEST_P(TreeCommandTest, FindTakesItsTestsWithTwoDashes) {
  EXPECT_EQ(
      Run({"find", Url(), "d", "--type", "f", "--name", "*.h", "--maxdepth", "3"}).lines().size(),
      40u);
  EXPECT_EQ(Run({"find", Url(), "d", "--maxdepth", "0"}).out, "d\n");
}

TEST_P(TreeCommandTest, FindHasOneOrderForAnyNumberOfThreads) {
  const ProgramRun alone = Run({"find", Url(), "d", "--threads", "1"});
  EXPECT_GT(alone.lines().size(), 90u);
  for (const char* threads : {"2", "8", "64"}) {
    EXPECT_EQ(Run({"find", Url(), "d", "--threads", threads}).out, alone.out);
  }
}

TEST_P(TreeCommandTest, FindNewerNeedsAnExistingFile) {
  EXPECT_THAT(Refusal({"find", Url(), "d", "-newer", "d/missing"}, 1),
              HasSubstr("find 'd/missing': No such file or directory"));
}

TEST_P(TreeCommandTest, WrongValuesAreReportedWithValidOnes) {
  EXPECT_THAT(Refusal({"find", Url(), "-size", "big"}, 2),
              AllOf(HasSubstr("'big'"), HasSubstr("+10M")));
  EXPECT_THAT(Refusal({"find", Url(), "-type", "f,x"}, 2), HasSubstr("'f,x'"));
  EXPECT_THAT(Refusal({"find", Url(), "--threads", "0"}, 2), HasSubstr("from 1 to 64"));
  EXPECT_THAT(Refusal({"find", Url(), "-mtime", "1"}, 2), HasSubstr("-mtime"));
  EXPECT_THAT(Refusal({"du", "-sa", Url()}, 2), HasSubstr("--summarize excludes --all"));
  EXPECT_THAT(Refusal({"du", "-d", "x", Url()}, 2), HasSubstr("'x'"));
}

TEST_P(TreeCommandTest, DuPrintsTheSumsOfCoreutils) {
  for (const char* flags : {"", "-s", "-a", "-h", "-sh", "-d 1", "-d 0", "-a -d 2 -h"}) {
    ExpectAsDu(flags, "d");
  }
  ExpectAsDu("--apparent-size", "d/one/large.c d/one/two/exact.c d/other/1/File1.h");
  // Coreutils 9.7's du takes the apparent size of a directory for 0.
  const bool counts_directories = Shell("du --apparent-size d/empty") != "0\td/empty\n";
  if (counts_directories) ExpectAsDu("--apparent-size", "d");
  ExpectAsDu("-s", "d/one/none d/other");
}

TEST_P(TreeCommandTest, DuCountsHardLinksOnce) {
  ExpectAsDu("", "d/one");
  ExpectAsDu("-s", "d/one d/other");
  const auto objects = Objects(Run({"du", "--json", "-s", Url(), "d/one/large.c", "d/one/again"}));
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0]["size_bytes"], 5000);
}

TEST_P(TreeCommandTest, DuInJsonHasBothSums) {
  const auto objects = Objects(Run({"du", "--json", Url(), "d/one/two"}));
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0]["path"], "d/one/two/three");
  EXPECT_EQ(objects[1]["path"], "d/one/two");
  EXPECT_EQ(objects[1]["files"], 4);
  EXPECT_EQ(objects[1]["used_bytes"].get<uint64_t>() / 1024,
            std::stoull(Shell("du -s d/one/two | cut -f1")));
}

TEST_P(TreeCommandTest, DuContinuesAfterAnUnreadableDirectory) {
  ASSERT_EQ(chmod(Backing("d/one").c_str(), 0700), 0);
  const ProgramRun run = Run({"du", "-s", "--uid", "1000", "--gid", "1000", Url(), "d"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.lines().size(), 1u);
  EXPECT_THAT(run.err, HasSubstr("du 'd/one': Permission denied"));
}

TEST_P(TreeCommandTest, ListingsWithoutAttributesGiveTheSameResult) {
  const std::string plain = server_->Url("nordirplus", GetParam());
  EXPECT_EQ(Run({"find", plain, "d"}).out, Run({"find", Url(), "d"}).out);
  EXPECT_EQ(Run({"du", plain, "d"}).out, Run({"du", Url(), "d"}).out);
}

}  // namespace
}  // namespace nfswalk
