// The commands that change an export: what they leave is what coreutils leave of the same
// arguments.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

#include "tests/integration/command_run.h"

namespace nfswalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ChangeCommand : public CommandRun {
 protected:
  void SetUp() override {
    CommandRun::SetUp();
    if (IsSkipped()) return;
    umask(022);
    for (const std::string& side : {std::string("ours"), std::string("theirs")}) {
      Directory(side);
      Directory(side + "/d");
      Directory(side + "/d/sub");
      Directory(side + "/full");
      File(side + "/f", "text");
      File(side + "/g", "other");
      File(side + "/d/sub/x");
      File(side + "/full/f", "old");
      Link(side + "/l", "d");
      Link(side + "/dangling", "nowhere");
    }
  }
  // Runs `nfswalk COMMAND FLAGS URL ours/PATHS` and, with the same flags, `COMMAND FLAGS PATHS` of
  // coreutils in theirs. Expects success or failure of both, and one tree.
  void ExpectAsCoreutils(const std::string& command, const std::string& flags,
                         const std::string& paths, const std::string& mode = "") {
    SCOPED_TRACE(command + " " + flags + " " + mode + " " + paths);
    Strings arguments{command};
    for (const std::string& flag : Split(flags, ' ')) arguments.push_back(flag);
    if (!mode.empty()) arguments.insert(arguments.end(), {"-m", mode});
    arguments.push_back(Url());
    const bool is_text = command == "ln" && flags == "-s";
    const Strings names = Split(paths, ' ');
    for (size_t i = 0; i < names.size(); ++i) {
      const bool is_target = is_text && i + 1 < names.size();
      arguments.push_back(is_target ? names[i] : "ours/" + names[i]);
    }
    const ProgramRun run = Run(arguments);
    const std::string status = Shell("cd theirs && " + command + " " + flags + " " + mode + " " +
                                     paths + " 2>/dev/null; echo $?");
    EXPECT_EQ(run.exit_code != 0, status != "0\n") << run.err << status;
    EXPECT_EQ(run.exit_code != 0, !run.err.empty());
    EXPECT_EQ(Tree("ours"), Tree("theirs"));
  }
  // Names, types, modes, numbers of links, targets and sizes of all below.
  std::string Tree(const std::string& side) const {
    return Shell("cd " + side + " && find . -type d -printf '%p %y %m\\n' -o -printf " +
                 "'%p %y %m %n %l %s\\n' | sort");
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, ChangeCommand, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(ChangeCommand, Mkdir) {
  ExpectAsCoreutils("mkdir", "", "new new/below d/new");
  ExpectAsCoreutils("mkdir", "", "f");
  ExpectAsCoreutils("mkdir", "", "no/such");
  ExpectAsCoreutils("mkdir", "-p", "a/b/c d/sub d/sub/e/");
  ExpectAsCoreutils("mkdir", "-p", "f/x");
  ExpectAsCoreutils("mkdir", "-p", "f");
  ExpectAsCoreutils("mkdir", "-m 1750", "sticky");
  ExpectAsCoreutils("mkdir", "-m g-w,o=x", "clauses");
}

TEST_P(ChangeCommand, Rm) {
  ExpectAsCoreutils("rm", "-r", "missing/ f/ dangling/");
  // coreutils removes what is in the directory that the link leads to, and then fails, too.
  EXPECT_THAT(Refusal({"rm", "-r", Url(), "ours/l/"}, 1), HasSubstr("Not a directory"));
  ExpectAsCoreutils("rm", "", "f l dangling");
  ExpectAsCoreutils("rm", "", "missing g");
  ExpectAsCoreutils("rm", "-f", "missing");
  ExpectAsCoreutils("rm", "", "full");
  ExpectAsCoreutils("rm", "", "full/");
  ExpectAsCoreutils("rm", "-r", "full/ d//");
  ExpectAsCoreutils("rm", "-rf", "missing");
  for (const char* refused : {"/", ".", "..", "ours/.", "ours/.."}) {
    EXPECT_THAT(Refusal({"rm", "-rf", Url(), refused}, 1), HasSubstr("are not removed")) << refused;
  }
}

TEST_P(ChangeCommand, RmOfALargeTree) {
  Shell(
      "mkdir -p ours/many && cd ours/many && for i in $(seq 1500); do : > $i; done && "
      "mkdir -p a/b/c && touch a/b/c/f && ln -s / root");
  EXPECT_EQ(Run({"rm", "-r", Url(), "ours/many"}).exit_code, 0);
  EXPECT_EQ(Tree("ours"), Tree("theirs"));
}

TEST_P(ChangeCommand, RmOfATreeThatAnotherRemovesMeanwhile) {
  Shell(
      "mkdir -p ours/many && cd ours/many && for i in $(seq 60); do mkdir -p $i/s && "
      "(cd $i && for j in 1 2 3 4 5 6 7 8 9; do : > $j; : > s/$j; done); done");
  const Descriptor out(MemoryFile()), err(MemoryFile());
  const pid_t other = Spawn({"rm", "-rf", Url(), "ours/many"}, out.fd, err.fd);
  const ProgramRun run = Run({"rm", "-rf", Url(), "ours/many"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(WaitForExit(other), 0) << Contents(err.fd);
  EXPECT_EQ(Tree("ours"), Tree("theirs"));
}

TEST_P(ChangeCommand, Mv) {
  ExpectAsCoreutils("mv", "", "f renamed");
  ExpectAsCoreutils("mv", "", "renamed g");
  ExpectAsCoreutils("mv", "", "g d");
  ExpectAsCoreutils("mv", "", "missing d");
  ExpectAsCoreutils("mv", "", "full dangling l");
  ExpectAsCoreutils("mv", "", "d/g d/dangling missing");
  ExpectAsCoreutils("mv", "", "d d/below");
}

TEST_P(ChangeCommand, Ln) {
  ExpectAsCoreutils("ln", "", "f hard");
  ExpectAsCoreutils("ln", "", "f g d");
  ExpectAsCoreutils("ln", "", "f hard");
  ExpectAsCoreutils("ln", "", "missing x");
  ExpectAsCoreutils("ln", "-s", "../anything soft");
  ExpectAsCoreutils("ln", "-s", "a b full");
  ExpectAsCoreutils("ln", "-s", "a soft");
}

TEST_P(ChangeCommand, TouchCreatesAndSetsBothTimes) {
  ExpectAsCoreutils("touch", "", "new f d");
  ExpectAsCoreutils("touch", "-c", "missing");
  ExpectAsCoreutils("touch", "", "no/such");
  ASSERT_EQ(utimensat(AT_FDCWD, Backing("ours/f").c_str(),
                      std::array<timespec, 2>{{{1, 0}, {2, 0}}}.data(), 0),
            0);
  EXPECT_EQ(Run({"touch", Url(), "ours/f"}).exit_code, 0);
  struct stat found = {};
  ASSERT_EQ(stat(Backing("ours/f").c_str(), &found), 0);
  EXPECT_GT(found.st_atim.tv_sec, 1'000'000'000);
  EXPECT_GT(found.st_mtim.tv_sec, 1'000'000'000);
}

TEST_P(ChangeCommand, Chmod) {
  for (const char* mode :
       {"0", "644", "4755", "1777", "u+x", "go-rwx", "a=r", "u=rwx,g=rx,o=", "+w", "-x", "=r",
        "o+t", "+t", "ug+s", "u+rwX,go-w", "a+X", "g=s", "u+r-w", "ugo=rwxs"}) {
    // nfs-ganesha takes a sticky directory without search permission for a referral of version 4.
    for (const char* first : {"0740", "0751", "6777"}) {
      for (const char* side : {"ours", "theirs"}) {
        Shell("chmod " + std::string(first) + " " + side + "/f " + side + "/d");
      }
      ExpectAsCoreutils("chmod", "", "f d", mode);
    }
  }
  ExpectAsCoreutils("chmod", "-R", "d full", "u=rwX,go=X");
  ExpectAsCoreutils("chmod", "", "missing", "644");
  for (const char* refused : {"", "8", "10000", "u", "x", "a+q", "u+x,", "rwx"}) {
    EXPECT_THAT(Refusal({"chmod", "-m", refused, Url(), "ours/f"}, 2),
                AllOf(HasSubstr("'" + std::string(refused) + "'"), HasSubstr("u+x,go-w")));
  }
}

TEST_P(ChangeCommand, PutWritesItsInput) {
  const std::string program = std::filesystem::absolute(kBinary).string();
  const auto put = [&](const std::string& input, const std::string& flags,
                       const std::string& path) {
    Shell(input + " | '" + program + "' put " + flags + " '" + Url() + "' " + path);
  };
  put("printf hello", "", "ours/new");
  EXPECT_EQ(Shell("cat ours/new; stat -c %a ours/new"), "hello644\n");
  put("printf shorter", "", "ours/f");
  put("printf ' and more'", "-a", "ours/f");
  EXPECT_EQ(Shell("cat ours/f"), "shorter and more");
  put("printf ''", "", "ours/f");
  EXPECT_EQ(Shell("stat -c %s ours/f"), "0\n");
  // Several pieces, the last one short.
  put("seq 3000000", "", "ours/large");
  EXPECT_EQ(Shell("seq 3000000 | cmp - ours/large && echo same"), "same\n");
  EXPECT_THAT(Refusal({"put", Url(), "ours/d"}, 1), HasSubstr("put 'ours/d': Is a directory"));
  EXPECT_THAT(Refusal({"put", Url(), "a", "b"}, 2), HasSubstr("'b': accepted is one path"));
}

TEST_P(ChangeCommand, JsonHasAnObjectForEachPath) {
  const ProgramRun run = Run({"rm", "--json", Url(), "ours/f", "ours/missing", "ours/g"});
  EXPECT_EQ(run.exit_code, 1);
  const auto objects = Objects(run);
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0], Json({{"path", "ours/f"}}));
  EXPECT_EQ(objects[1]["error"]["name"], "ENOENT");
  EXPECT_EQ(objects[2]["path"], "ours/g");
}

}  // namespace
}  // namespace nfswalk
