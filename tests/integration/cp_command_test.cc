// `nfswalk cp`, compared with the backing directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <filesystem>
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
                                     "ulimit -f 2000; trap '' XFSZ; exec " + std::string(kBinary) +
                                         " cp '" + Url() + "' f '" + Local("copy") + "'"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("': File too large (make room"));
  EXPECT_EQ(Names(), "");
}

// The file is so large that the copy is still running when the signal arrives.
TEST_P(CpCommandTest, AnInterruptedCopyLeavesNothing) {
  Shell("truncate -s 1T endless");
  for (const int signal : {SIGINT, SIGTERM}) {
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

TEST_P(CpCommandTest, WithoutATargetTheCommandLineIsWrong) {
  const ProgramRun run = Run({"cp", Url(), "f"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("'f' alone"), HasSubstr("last, where they go")));
}

}  // namespace
}  // namespace nfswalk
