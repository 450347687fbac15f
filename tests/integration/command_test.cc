// The nfswalk command against a real nfs-ganesha.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "tests/integration/command_run.h"

namespace nfswalk {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class Command : public CommandRun {};

INSTANTIATE_TEST_SUITE_P(Versions, Command, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(Command, StatShowsWhatTheServerHas) {
  File("f", "hello");
  ASSERT_EQ(chmod(Backing("f").c_str(), 04751), 0);
  ASSERT_EQ(chown(Backing("f").c_str(), 1000, 100), 0);
  ASSERT_EQ(chmod(Backing("f").c_str(), 04751), 0);
  const ProgramRun run = Run({"stat", Url(), "f"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, AllOf(StartsWith("  File: f\n  Size: 5 "), HasSubstr("regular file\n"),
                             HasSubstr("(4751/-rwsr-x--x)  Uid: ( 1000/")));
}

TEST_P(Command, StatShowsALinkOrWhatItPointsTo) {
  File("f", "hello");
  Link("l", "f");
  EXPECT_THAT(Run({"stat", Url(), "l"}).out, StartsWith("  File: l -> f\n"));
  const ProgramRun followed = Run({"stat", "-L", Url(), "l"});
  EXPECT_THAT(followed.out, AllOf(StartsWith("  File: l\n"), HasSubstr("regular file")));
}

TEST_P(Command, JsonHasOneObjectForEachPathInOrderAlsoForFailures) {
  File("f", "hello");
  Link("l", "f");
  const ProgramRun run = Run({"stat", "--json", Url(), "f", "missing", "l"});
  EXPECT_EQ(run.exit_code, 1);
  const auto objects = Objects(run);
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0]["path"], "f");
  EXPECT_EQ(objects[0]["type"], "regular file");
  EXPECT_EQ(objects[0]["size_bytes"], 5);
  EXPECT_EQ(objects[1]["path"], "missing");
  EXPECT_EQ(objects[1]["error"]["name"], "ENOENT");
  EXPECT_EQ(objects[2]["target"], "f");
  EXPECT_THAT(run.err, StartsWith("nfswalk: stat 'missing': No such file or directory ("));
}

TEST_P(Command, NamesThatAreNotUtf8AreComplete) {
  for (const char* name : {"[a,b]", "{}", "new\nline", "\xff"}) File(name);
  EXPECT_EQ(Run({"stat", Url(), "[a,b]"}).exit_code, 0);
  EXPECT_EQ(Run({"stat", Url(), "{}"}).exit_code, 0);
  EXPECT_EQ(Run({"stat", Url(), "new\nline", "\xff"}).exit_code, 0);
  const ProgramRun listed = Run({"ls", "--json", Url()});
  EXPECT_EQ(Objects(listed).size(), 4u);
  EXPECT_THAT(listed.out, HasSubstr("\"name_base64\":\"/w==\""));
}

TEST_P(Command, LsShowsEveryEntryOfALargeDirectory) {
  Directory("many");
  for (int i = 0; i < 2500; ++i) File("many/" + std::to_string(i));
  EXPECT_EQ(Run({"ls", Url(), "many"}).lines().size(), 2500u);
}

TEST_P(Command, ReadlinkPrintsTargetsAndRefusesTheRest) {
  Link("l", "no/such target");
  File("f");
  const ProgramRun run = Run({"readlink", Url(), "l", "f"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "no/such target\n");
  EXPECT_THAT(run.err, HasSubstr("readlink 'f': Invalid argument (not a symbolic link"));
}

TEST_P(Command, AccessChecksTheGivenUser) {
  File("f");
  ASSERT_EQ(chmod(Backing("f").c_str(), 0640), 0);
  ASSERT_EQ(chown(Backing("f").c_str(), 1000, 27), 0);
  EXPECT_EQ(Run({"access", "-r", "-w", "--uid", "1000", "--gid", "5", Url(), "f"}).out,
            "f: allowed\n");
  EXPECT_EQ(
      Run({"access", "-r", "--uid", "7", "--gid", "5", "--groups", "4,27", Url(), "f"}).exit_code,
      0);
  const ProgramRun denied = Run({"access", "-r", "--uid", "7", "--gid", "5", Url(), "f"});
  EXPECT_EQ(denied.exit_code, 1);
  EXPECT_EQ(denied.out, "");
  EXPECT_THAT(denied.err, AllOf(HasSubstr("Permission denied"), HasSubstr("uid 7 gid 5")));
}

TEST_P(Command, CatIsBinarySafeAndJoinsFiles) {
  std::string large(3 * 1024 * 1024 + 7, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 + i / 256);
  File("large", large);
  File("empty");
  File("small", "end");
  const ProgramRun run = Run({"cat", Url(), "large", "empty", "small"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(run.out == large + "end") << run.out.size() << " bytes";
}

TEST_P(Command, CatGoesOnAfterAFailure) {
  Directory("d");
  File("f", "data");
  const ProgramRun run = Run({"cat", Url(), "d", "missing", "f"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "data");
  EXPECT_THAT(run.err, AllOf(HasSubstr("cat 'd': Is a directory"), HasSubstr("cat 'missing'")));
}

TEST_P(Command, OutputThatCannotBeWrittenIsAFailure) {
  File("f", "data");
  const Descriptor full(open("/dev/full", O_WRONLY));
  const Descriptor err(MemoryFile());
  EXPECT_EQ(WaitForExit(Spawn({"cat", Url(), "f"}, full.fd, err.fd)), 1);
  EXPECT_THAT(Contents(err.fd), HasSubstr("cannot write standard output: No space left"));
}

TEST_P(Command, AClosedPipeEndsTheCommandSilently) {
  File("f", std::string(4 * 1024 * 1024, 'x'));
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  close(ends[0]);
  const Descriptor out(ends[1]);
  const Descriptor err(MemoryFile());
  EXPECT_EQ(WaitForExit(Spawn({"cat", Url(), "f"}, out.fd, err.fd)), 1);
  EXPECT_EQ(Contents(err.fd), "");
}

TEST_P(Command, FindPrintsADirectoryBeforeWhatIsInIt) {
  Directory("d");
  Directory("d/sub");
  File("d/sub/x");
  EXPECT_THAT(Run({"find", Url(), "d"}).lines(), ElementsAre("d", "d/sub", "d/sub/x"));
}

TEST_P(Command, FindEndsPathsWithANulWhereAsked) {
  Directory("d");
  File("d/new\nline");
  EXPECT_THAT(Split(Run({"find", Url(), "d", "--print0"}).out, '\0'),
              ElementsAre("d", "d/new\nline"));
}

TEST_P(Command, FindContinuesAfterAnUnreadableDirectory) {
  Directory("d");
  Directory("d/private", 0700);
  File("d/private/x");
  File("d/f");
  const ProgramRun run = Run({"find", "--uid", "1000", "--gid", "1000", Url(), "d"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.lines(), UnorderedElementsAre("d", "d/private", "d/f"));
  EXPECT_THAT(run.err, HasSubstr("find 'd/private': Permission denied"));
}

TEST_P(Command, PathsThatCannotExistReportTheirErrno) {
  File("f");
  Link("a", "b");
  Link("b", "a");
  std::string long_path = "f";
  while (long_path.size() < 4096) long_path.insert(0, "/");
  EXPECT_EQ(Run({"stat", Url(), long_path.substr(1)}).exit_code, 0);  // PATH_MAX without its NUL
  const std::pair<std::string, const char*> rows[] = {
      {long_path, "ENAMETOOLONG"},
      {std::string(256, 'x'), "ENAMETOOLONG"},
      {std::string(255, 'x'), "ENOENT"},
      {"", "ENOENT"},
      {"f/x", "ENOTDIR"},
      {"f/", "ENOTDIR"},
      {"a/x", "ELOOP"},
  };
  for (const auto& [path, error] : rows) {
    const ProgramRun run = Run({"stat", "--json", Url(), path});
    EXPECT_EQ(run.exit_code, 1) << path;
    EXPECT_EQ(Objects(run).at(0)["error"]["name"], error) << path;
  }
}

TEST_P(Command, AnExportThatCannotBeMountedIsExplained) {
  const struct {
    std::string location;
    int mount_port;
    const char* reason;
  } rows[] = {{"no-such-host.invalid/export", 1, "no-such-host.invalid"},
              {"127.0.0.1:1/export", 1, "Connection refused"},
              {"127.0.0.1:2049/wrong", 20048, "/wrong"},
              {"127.0.0.1:111/export", 111, "111"}};
  for (const auto& [location, mount_port, reason] : rows) {
    const std::string url = "nfs://" + location + "?version=" + std::to_string(GetParam()) +
                            "&mountport=" + std::to_string(mount_port);
    EXPECT_THAT(Refusal({"stat", url, "."}, 3),
                AllOf(StartsWith("nfswalk: mount '" + url + "': "), HasSubstr(reason)));
  }
}

TEST_P(Command, ADeadServerIsAnErrorOfTheServer) {
  server_->Kill();
  const ProgramRun run = Run({"ls", Url()});
  EXPECT_EQ(server_->Restart(), "");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("Connection refused"));
}

TEST_P(Command, AWrongCommandLineIsExplainedWithoutContactingAServer) {
  for (const Strings& arguments : std::vector<Strings>{
           {},
           {"bogus"},
           {"stat"},
           {"stat", Url()},
           {"stat", "/export", "x"},
           {"stat", Url() + "&nconnect=17", "x"},
           {"stat", "--uid", "root", Url(), "x"},
           {"stat", "--bogus", Url(), "x"},
           {"find", "--type", "z", Url()},
           {"find", "--json", "--print0", Url()},
       }) {
    EXPECT_THAT(Refusal(arguments, 2), StartsWith("nfswalk: "));
  }
}

TEST_P(Command, HelpHasExamplesAndExitCodes) {
  EXPECT_THAT(Run({"--help"}).out, HasSubstr("Exit codes:"));
  for (const char* command :
       {"stat", "ls", "readlink", "access", "cat", "find", "du", "cp", "doctor"}) {
    const ProgramRun run = Run({command, "--help"});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, AllOf(HasSubstr("Examples:\n  nfswalk " + std::string(command)),
                               HasSubstr("Exit codes:")));
  }
}

// Standard error is a terminal; the server is stopped until the line has appeared.
TEST_P(Command, WaitingForAServerIsShownAndErased) {
  File("f");
  int controller = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
  const Descriptor seen(controller);
  const Descriptor out(MemoryFile());
  server_->Hang();
  const pid_t pid = Spawn({"ls", Url()}, out.fd, terminal);
  close(terminal);
  std::string text;
  std::array<char, 512> bytes;
  bool hung = true;
  ssize_t count = 0;
  while ((count = read(seen.fd, bytes.data(), bytes.size())) > 0) {
    text.append(bytes.data(), static_cast<size_t>(count));
    if (hung && text.find("nfswalk: ls: waiting for the server") != std::string::npos) {
      server_->Resume();
      hung = false;
    }
  }
  if (hung) server_->Resume();
  EXPECT_EQ(WaitForExit(pid), 0);
  EXPECT_FALSE(hung) << text;
  EXPECT_THAT(text, EndsWith("\r\033[K"));
  EXPECT_EQ(Contents(out.fd), "f\n");
}

}  // namespace
}  // namespace nfswalk
