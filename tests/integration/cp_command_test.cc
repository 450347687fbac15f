// `nfswalk cp`, compared with the backing directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/integration/command_run.h"

namespace nfswalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CpCommandTest : public CommandRun {
 protected:
  void SetUp() override {
    CommandRun::SetUp();
    if (IsSkipped()) return;
    local_ = std::filesystem::path(testing::TempDir()) / "cp_command_test";
    std::filesystem::remove_all(local_);
    std::filesystem::create_directory(local_);
  }
  void TearDown() override { std::filesystem::remove_all(local_); }

  std::string Local(const std::string& path) const { return (local_ / path).string(); }
  // Runs a shell command in the local directory.
  std::string Here(const std::string& command) const {
    const ProgramRun run = RunProgram({"sh", "-c", "cd '" + local_.string() + "' && " + command});
    EXPECT_EQ(run.exit_code, 0) << command << "\n" << run.err;
    return run.out;
  }
  // Lists the local directory, to see that nothing else is there.
  std::string Names() const { return Here("find . -mindepth 1 | LC_ALL=C sort | tr '\\n' ' '"); }

  std::filesystem::path local_;
};

INSTANTIATE_TEST_SUITE_P(Versions, CpCommandTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(CpCommandTest, AFileIsCopiedCompletely) {
  Shell("head -c 5000007 /dev/urandom > f; : > empty; chmod 640 f");
  const ProgramRun run = Run({"cp", Url(), "f", Local("copy")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(Run({"cp", Url(), "f", "empty", Local("")}).exit_code, 0);
  Here("cmp copy '" + Backing("f").string() + "' && cmp f copy && test ! -s empty");
  EXPECT_EQ(Here("stat -c %a copy"), "640\n");
  EXPECT_EQ(Names(), "./copy ./empty ./f ");
}

// 16 MiB with 8 bytes of data, and a hole at the end.
TEST_P(CpCommandTest, HolesAreCopiedAsHoles) {
  const std::string hole_aware = "nfs://127.0.0.1/export?version=4.2";
  const std::string make =
      "truncate -s 16M f; printf data | dd of=f bs=1 seek=5000000 conv=notrunc;"
      "printf more | dd of=f bs=1 seek=9000000 conv=notrunc";
  Shell("(" + make + ") 2>/dev/null");
  for (const std::string& url : {Url(), hole_aware}) {
    EXPECT_EQ(Run({"cp", url, "f", Local("copy")}).exit_code, 0);
    Here("cmp copy '" + Backing("f").string() + "'");
    EXPECT_EQ(Run({"cp", Local("copy"), url, "back"}).exit_code, 0);
    Here("cmp copy '" + Backing("back").string() + "'");
    EXPECT_EQ(Run({"cat", url, "f"}).out, Shell("cat f"));
  }
  // By the last one, in KiB.
  EXPECT_LT(std::stoi(Here("du -k copy")), 1000);
  EXPECT_LT(std::stoi(Shell("du -k back")), 1000);
}

// By Linux' own server, where that is the test's; 0 elsewhere.
int CopiesOfServer() {
  constexpr int kCopy = 60;
  std::ifstream statistics(getenv("NFSWALK_KNFSD") == nullptr ? "" : "/proc/net/rpc/nfsd");
  for (std::string line; std::getline(statistics, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != "proc4ops") continue;
    int calls = 0;
    for (int at = -1; at <= kCopy; ++at) words >> calls;  // the first is their number
    return calls;
  }
  return 0;
}

// By the server itself where that can.
TEST_P(CpCommandTest, FilesAreCopiedInsideTheExport) {
  const std::string hole_aware = "nfs://127.0.0.1/export?version=4.2";
  Shell(
      "mkdir d; head -c 40000007 /dev/urandom > d/large; echo a > d/small; : > d/empty;"
      "truncate -s 8M d/holes; printf data | dd of=d/holes bs=1 seek=5000000 conv=notrunc 2>&1");
  int number = 0;
  for (const std::string& from : {Url(), hole_aware}) {
    for (const std::string& to : {Url(), hole_aware}) {
      const std::string name = "to" + std::to_string(++number);
      const int before = CopiesOfServer();
      const ProgramRun run = Run({"cp", "-r", from, "d", to, name});
      EXPECT_EQ(run.exit_code, 0) << run.err;
      Shell("diff -r d " + name);
      if (from == hole_aware) Shell("test $(du -k " + name + "/holes | cut -f1) -lt 1000");
      const bool may_copy = from == to && from == hole_aware;
      if (getenv("NFSWALK_KNFSD") == nullptr) continue;
      EXPECT_EQ(CopiesOfServer() > before, may_copy);
    }
  }
}

TEST_P(CpCommandTest, ATreeIsCopiedWithItsLinks) {
  Shell(
      "mkdir -p d/sub/deep d/empty d/private; chmod 500 d/private; echo a > d/a; echo b > d/sub/b;"
      "echo c > 'd/sub/deep/new\nline'; ln -s a d/link; ln -s /no/such d/nowhere; chmod 755 d/a");
  const ProgramRun run = Run({"cp", "-r", Url(), "d", Local("copy")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  Here("diff -r --no-dereference copy '" + Backing("d").string() + "'");
  EXPECT_EQ(Here("cd copy && find . -printf '%p %m %y %l\\n' | LC_ALL=C sort"),
            Shell("cd d && find . -printf '%p %m %y %l\\n' | LC_ALL=C sort"));
}

TEST_P(CpCommandTest, ModesAndTimesAreKeptOnDemand) {
  Shell(
      "mkdir -p d/sub; echo a > d/sub/f; chmod 4777 d/sub/f; chmod 1777 d/sub; ln -s f d/sub/l;"
      "touch -hd '2001-02-03 04:05:06.789' d/sub/f d/sub/l d/sub d");
  EXPECT_EQ(Run({"cp", "-rp", Url(), "d", Local("copy")}).exit_code, 0);
  EXPECT_EQ(Here("cd copy && stat -c '%n %A %y' . sub sub/f sub/l"),
            Shell("chmod u-s d/sub/f; touch -d '2001-02-03 04:05:06.789' d/sub/f;"
                  "cd d && stat -c '%n %A %y' . sub sub/f sub/l"));
}

TEST_P(CpCommandTest, TheUmaskAppliesToModesOfNewFiles) {
  Shell("echo a > f; chmod 6777 f");
  const ProgramRun run = RunProgram({"sh", "-c",
                                     "umask 027; exec " + std::string(kBinary) + " cp '" + Url() +
                                         "' f '" + Local("copy") + "'"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(Here("stat -c %a copy"), "750\n");
}

TEST_P(CpCommandTest, TheRootIsCopiedIntoAnExistingDirectory) {
  Shell("mkdir d; echo a > d/f");
  Here("mkdir -p mirror/d; echo old > mirror/d/f; echo kept > mirror/own");
  EXPECT_EQ(Run({"cp", "-r", Url(), ".", Local("mirror")}).exit_code, 0);
  EXPECT_EQ(Here("cat mirror/d/f mirror/own"), "a\nkept\n");
}

TEST_P(CpCommandTest, OnlyRegularFilesAreReplaced) {
  Shell("echo a > f; mkdir d");
  Here("mkdir -p there/f; mkfifo pipe; ln -s pipe to-pipe; ln -s missing dangling; echo x > file");
  EXPECT_THAT(Refusal({"cp", Url(), "f", Local("there")}, 1),
              AllOf(HasSubstr("cp 'f' to '" + Local("there/f") + "': Is a directory"),
                    HasSubstr("not replaced")));
  EXPECT_THAT(Refusal({"cp", Url(), "f", Local("pipe")}, 1), HasSubstr("File exists"));
  EXPECT_THAT(Refusal({"cp", Url(), "f", Local("to-pipe")}, 1), HasSubstr("File exists"));
  EXPECT_THAT(Refusal({"cp", Url(), "f", Local("dangling")}, 1), HasSubstr("No such file"));
  EXPECT_THAT(Refusal({"cp", "-r", Url(), "d", Local("file")}, 1), HasSubstr("Not a directory"));
  EXPECT_THAT(Refusal({"cp", Url(), "f", "d", Local("new")}, 1), HasSubstr("Not a directory"));
  EXPECT_EQ(Names(), "./dangling ./file ./pipe ./there ./there/f ./to-pipe ");
}

TEST_P(CpCommandTest, LinksBelowTheTargetAreNotFollowed) {
  Shell("mkdir -p d/sub; echo new > d/f; echo new > d/sub/g");
  Here(
      "mkdir -p copy outside; echo old > outside/f; ln -s ../outside/f copy/f;"
      "ln -s ../outside copy/sub");
  const ProgramRun run = Run({"cp", "-r", Url(), "d/.", Local("copy")});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("to '" + Local("copy/sub") + "': Not a directory"));
  EXPECT_EQ(Here("cat outside/f copy/f; ls outside"), "old\nnew\nf\n");
}

TEST_P(CpCommandTest, ATargetThatIsALinkIsFollowed) {
  Shell("echo new > f");
  Here("echo old > file; ln -s file link");
  EXPECT_EQ(Run({"cp", Url(), "f", Local("link")}).exit_code, 0);
  EXPECT_EQ(Here("cat file; readlink link"), "new\nfile\n");
}

TEST_P(CpCommandTest, FailuresNameTheirPathAndTheRestIsCopied) {
  Shell("mkdir d d/closed; echo a > d/a; echo b > d/z; echo c > d/secret; chmod 600 d/secret");
  Shell("mkfifo d/pipe; chmod 700 d/closed");
  const ProgramRun run =
      Run({"cp", "-r", "--uid", "1000", "--gid", "1000", Url(), "d", Local("copy")});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr("cp 'd/secret': Permission denied"),
                             HasSubstr("cp 'd/closed': Permission denied"),
                             HasSubstr("cp 'd/pipe': Operation not supported (only files")));
  EXPECT_EQ(Names(), "./copy ./copy/a ./copy/closed ./copy/z ");
  EXPECT_THAT(Run({"cp", Url(), "d", Local("x")}).err,
              HasSubstr("cp 'd': Is a directory (-r copies directories)"));
  EXPECT_THAT(Run({"cp", Url(), "d/a", Local("no/such")}).err,
              HasSubstr("cp 'd/a' to '" + Local("no/such") + "': No such file or directory (make"));
}

TEST_P(CpCommandTest, AFileThatDoesNotFitIsRemoved) {
  Shell("head -c 3000000 /dev/zero > f");
  const ProgramRun run = RunProgram({"sh", "-c",
                                     "ulimit -f 2000; exec " + std::string(kBinary) + " cp '" +
                                         Url() + "' f '" + Local("copy") + "'"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("': File too large (make room"));
  EXPECT_EQ(Names(), "");
}

// The file is so large that the copy is still running when the signal arrives.
TEST_P(CpCommandTest, AnInterruptedCopyLeavesNothing) {
  Shell("truncate -s 1T endless");
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGXCPU}) {
    const Descriptor watch(inotify_init1(IN_CLOEXEC));
    ASSERT_GE(inotify_add_watch(watch.fd, local_.c_str(), IN_MODIFY), 0);
    const Descriptor null(open("/dev/null", O_WRONLY));
    const pid_t pid = Spawn({"cp", Url(), "endless", Local("copy")}, null.fd, null.fd);
    std::array<char, 4096> event;
    EXPECT_GT(read(watch.fd, event.data(), event.size()), 0);
    EXPECT_NE(Names(), "");
    kill(pid, signal);
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    EXPECT_EQ(Names(), "");
  }
}

TEST_P(CpCommandTest, JsonNamesSourceAndTarget) {
  Shell("mkdir d; echo abc > d/f; ln -s f d/l");
  const auto copied = Objects(Run({"cp", "-r", "--json", Url(), "d", Local("copy")}));
  ASSERT_EQ(copied.size(), 3u);
  EXPECT_EQ(copied[0]["to"], Local("copy"));
  EXPECT_EQ(copied[0]["type"], "directory");
  const auto failed = Objects(Run({"cp", "--json", Url(), "d/f", Local("no/such")}));
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0]["path"], "d/f");
  EXPECT_EQ(failed[0]["to"], Local("no/such"));
  EXPECT_EQ(failed[0]["error"]["name"], "ENOENT");
}

// A tree with all that can be copied.
constexpr const char* kTree =
    "mkdir -p src/sub/deep src/empty src/.hidden; echo a > src/a; echo bb > src/sub/b; : > "
    "src/none;"
    "yes | head -c 3000000 > src/sub/large; ln -s a src/link; ln -s /no/such src/nowhere;"
    "echo c > 'src/sub/deep/new\nline'; chmod 750 src/sub; chmod 600 src/a; chmod 444 src/none;"
    "chmod 777 src/empty; for i in $(seq 40); do echo $i > src/sub/deep/$i; done;"
    "touch -hd '2001-02-03 04:05:06.789' src/a src/link src/sub/deep src/empty; echo other > other;"
    "mkdir there; echo old > there/other; ln -s other there/l";
constexpr const char* kShow =
    "find . -mindepth 1 -printf '%P %m %y %l\\n' | LC_ALL=C sort;"
    "find . -type f -exec cksum {} + | LC_ALL=C sort";

struct CopyRow {
  const char* flags;
  const char* sources;  // of the source's directory
  const char* target;   // of the target's
};
constexpr CopyRow kCopies[] = {
    {"-r", "src", "new"},     {"-rp", "src", "new"},        {"-r", "src other", "there"},
    {"", "src/a", "copy"},    {"", "src/a other", "there"}, {"-p", "src/a", "copy"},
    {"", "src/link", "copy"}, {"-r", "src/link", "copy"},   {"-r", "src/.", "there"},
    {"-r", "src", "there"},   {"-r", "src/sub/", "new"},    {"-rp", "src/sub src/empty", "there"},
};

// Compares with what the coreutils leave for the same arguments between local directories.
TEST_P(CpCommandTest, CopiesToAnExportLeaveWhatCoreutilsLeave) {
  const std::string binary = std::filesystem::absolute(kBinary).string();
  for (const CopyRow& row : kCopies) {
    for (const bool from_export : {false, true}) {
      Shell("rm -rf * .??*");
      Here("rm -rf * .??*");
      Here(kTree);
      Here("mkdir expected; cp -a there expected");
      Shell(std::string(kTree) + "; mkdir to; mv there to");
      const std::string target = std::string(row.target);
      Here(std::string("cp ") + row.flags + " " + row.sources + " expected/" + target);
      const std::string source = from_export ? "'" + Url() + "' " : "";
      const ProgramRun run =
          RunProgram({"sh", "-c",
                      "cd '" + local_.string() + "'; exec " + binary + " cp " + row.flags + " " +
                          source + row.sources + " '" + Url() + "' to/" + target});
      EXPECT_EQ(run.exit_code, 0) << row.flags << " " << row.sources << "\n" << run.err;
      EXPECT_EQ(Shell(std::string("cd to; ") + kShow), Here(std::string("cd expected; ") + kShow))
          << row.flags << " " << row.sources << " " << row.target << " " << from_export;
    }
  }
}

TEST_P(CpCommandTest, TimesAreKeptOnTheExportOnDemand) {
  Here(kTree);
  EXPECT_EQ(Run({"cp", "-rp", Local("src"), Url(), "new"}).exit_code, 0);
  EXPECT_EQ(Shell("cd new; stat -c '%n %y' a sub/deep empty"),
            Here("cd src; stat -c '%n %y' a sub/deep empty"));
}

TEST_P(CpCommandTest, OnTheExportOnlyFilesAreReplacedAndNoLinkIsFollowed) {
  Here("mkdir -p d/sub; echo new > d/f; echo new > d/sub/g; mkfifo d/pipe");
  Shell(
      "mkdir -p to/d outside to/file.d; echo old > outside/f; ln -s ../../outside/f to/d/f;"
      "ln -s ../../outside to/d/sub; mkdir to/f; mkfifo to/p");
  const ProgramRun run = Run({"cp", "-r", Local("d"), Url(), "to"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr("to 'to/d/sub': Not a directory"),
                             HasSubstr("d/pipe': Operation not supported")));
  EXPECT_EQ(Shell("cat outside/f to/d/f; ls outside"), "old\nnew\nf\n");
  EXPECT_THAT(Run({"cp", Local("d/f"), Url(), "to"}).err, HasSubstr("Is a directory"));
  EXPECT_THAT(Run({"cp", Local("d/f"), Url(), "to/p"}).err, HasSubstr("File exists"));
  EXPECT_THAT(Run({"cp", Local("d/f"), Url(), "no/such"}).err, HasSubstr("No such file"));
  EXPECT_THAT(Run({"cp", Local("d/f"), Local("d/sub/g"), Url(), "new"}).err,
              HasSubstr("Not a directory"));
  EXPECT_THAT(Run({"cp", Local("missing"), Url(), "new"}).err, HasSubstr("No such file"));
  EXPECT_EQ(Shell("find . -name '.nfswalk*'"), "");
}

TEST_P(CpCommandTest, ADirectoryIsNotCopiedIntoItself) {
  Shell("mkdir -p d/sub; echo a > d/f");
  const ProgramRun run = Run({"cp", "-r", Url(), "d", Url(), "d/sub"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(Shell("cat d/sub/d/f; ls d/sub/d/sub 2>/dev/null"), "a\n");
  EXPECT_EQ(Run({"cp", "-r", Url(), "d", Url(), "."}).exit_code, 1);
}

// The file is so large that the copy is still running when the signal arrives; it has no holes.
TEST_P(CpCommandTest, AnInterruptedCopyLeavesNothingOnTheExport) {
  Here("fallocate -l 3G endless");
  for (const int signal : {SIGINT, SIGTERM}) {
    const Descriptor null(open("/dev/null", O_WRONLY));
    const pid_t pid = Spawn({"cp", Local("endless"), Url(), "copy"}, null.fd, null.fd);
    while (Shell("find . -name '.nfswalk*' -size +0") == "") {
    }
    kill(pid, signal);
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    EXPECT_EQ(Shell("find . -mindepth 1"), "");
  }
}

TEST_P(CpCommandTest, WithoutATargetTheCommandLineIsWrong) {
  const ProgramRun run = Run({"cp", Url(), "f"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("'f' alone"), HasSubstr("last, where they go")));
}

}  // namespace
}  // namespace nfswalk
