// `nfswalk ls`, compared with coreutils' ls on the backing directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <string>

#include "tests/integration/command_run.h"

namespace nfswalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LsCommandTest : public CommandRun {
 protected:
  void SetUp() override {
    CommandRun::SetUp();
    if (IsSkipped()) return;
    Directory("d");
    Directory("d/sub");
    Directory("d/sub/deep");
    Directory("d/other", 01777);
    File("d/.hidden", "1234");
    File("d/b", std::string(123456, 'x'));
    File("d/a", "12345");
    File("d/program", "12345");
    File("d/sub/x", "1");
    Link("d/l", "a");
    Link("d/nowhere", "no/such");
    ASSERT_EQ(chmod(Backing("d/other").c_str(), 01777), 0);
    ASSERT_EQ(chmod(Backing("d/program").c_str(), 0755), 0);
    ASSERT_EQ(chown(Backing("d/b").c_str(), 1, 4123456), 0);
    ASSERT_EQ(mknod(Backing("d/c").c_str(), S_IFCHR | 0620, makedev(204, 64)), 0);
    Shell("touch -hd '2001-02-03 04:05:06' d/a d/b d/l; touch -d '2001-02-03 04:05:07.5' d/sub");
  }
  void ExpectAsLs(const std::string& flags, const std::string& paths) const {
    ExpectAs("ls --time-style=long-iso -1", "ls", flags, paths, false);
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, LsCommandTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(LsCommandTest, ListsAsCoreutils) {
  for (const char* flags : {"", "-a", "-A", "-r", "-t", "-tr", "-S", "-Sr", "-R", "-AR", "-d", "-l",
                            "-n", "-lh", "-lt", "-lA", "-lR", "-ld"}) {
    ExpectAsLs(flags, "d");
  }
  ExpectAsLs("", "");
}

TEST_P(LsCommandTest, FilesComeBeforeDirectories) {
  ExpectAsLs("", "d/sub d/b d/nowhere d/a d/other");
  ExpectAsLs("-l", "d/sub d/b d/l d/a");
}

TEST_P(LsCommandTest, LongListingsOfTheRootHaveItsParentsToo) {
  const ProgramRun run = Run({"ls", "-la", Url()});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.lines().size(), 4u);  // total . .. d
}

TEST_P(LsCommandTest, ColoursAreForTerminalsOrOnDemand) {
  EXPECT_EQ(Run({"ls", Url(), "d"}).out.find('\033'), std::string::npos);
  EXPECT_EQ(Run({"ls", "--color=auto", Url(), "d"}).out.find('\033'), std::string::npos);
  const ProgramRun colored = Run({"ls", "--color=always", Url(), "d"});
  EXPECT_THAT(colored.lines(), ElementsAre("a", "b", "\033[01;33mc\033[0m", "\033[01;36ml\033[0m",
                                           "\033[01;36mnowhere\033[0m", "\033[30;42mother\033[0m",
                                           "\033[01;32mprogram\033[0m", "\033[01;34msub\033[0m"));
  EXPECT_EQ(Objects(Run({"ls", "--json", "--color=always", Url(), "d"})).size(), 8u);
}

TEST_P(LsCommandTest, ATerminalGetsColoursUnlessTheEnvironmentForbidsThem) {
  const auto seen = [](const Strings& environment) {
    int controller = -1;
    int terminal = -1;
    EXPECT_EQ(openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
    const Descriptor reader(controller);
    const Descriptor null(open("/dev/null", O_WRONLY));
    Strings arguments{"env", "TERM=xterm", "NO_COLOR="};
    arguments.insert(arguments.end(), environment.begin(), environment.end());
    for (const std::string& argument :
         {std::string(kBinary), std::string("ls"), Url(), std::string("d/sub")}) {
      arguments.push_back(argument);
    }
    const pid_t pid = SpawnProgram(arguments, terminal, null.fd);
    close(terminal);
    std::string text;
    std::array<char, 512> bytes;
    for (ssize_t count; (count = read(reader.fd, bytes.data(), bytes.size())) > 0;) {
      text.append(bytes.data(), static_cast<size_t>(count));
    }
    EXPECT_EQ(WaitForExit(pid), 0);
    return text;
  };
  EXPECT_EQ(seen({}), "\033[01;34mdeep\033[0m\r\nx\r\n");
  EXPECT_EQ(seen({"NO_COLOR=1"}), "deep\r\nx\r\n");
  EXPECT_EQ(seen({"TERM=dumb"}), "deep\r\nx\r\n");
}

TEST_P(LsCommandTest, ContradictoryAndUnknownOptionsAreExplained) {
  EXPECT_THAT(Refusal({"ls", "-tS", Url()}, 2), HasSubstr("-t excludes -S"));
  EXPECT_THAT(Refusal({"ls", "--color=red", Url()}, 2),
              HasSubstr("'red': accepted is auto, always or never"));
}

TEST_P(LsCommandTest, AMissingPathDoesNotHideTheOthers) {
  const ProgramRun run = Run({"ls", Url(), "missing", "d/a"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "d/a\n");
  EXPECT_THAT(run.err, HasSubstr("ls 'missing': No such file"));
}

}  // namespace
}  // namespace nfswalk
