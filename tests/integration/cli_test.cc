// The nfswalk command against a real nfs-ganesha.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/mman.h>
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

class CliTest : public CommandRun {};

INSTANTIATE_TEST_SUITE_P(Versions, CliTest, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(CliTest, StatShowsWhatTheServerHas) {
  File("f", "hello");
  ASSERT_EQ(chmod(Backing("f").c_str(), 04751), 0);
  ASSERT_EQ(chown(Backing("f").c_str(), 1000, 100), 0);
  ASSERT_EQ(chmod(Backing("f").c_str(), 04751), 0);
  const Ran ran = Run({"stat", Url(), "f"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, AllOf(StartsWith("  File: f\n  Size: 5 "), HasSubstr("regular file\n"),
                             HasSubstr("(4751/-rwsr-x--x)  Uid: ( 1000/")));
}

TEST_P(CliTest, StatShowsALinkOrWhatItPointsTo) {
  File("f", "hello");
  Link("l", "f");
  EXPECT_THAT(Run({"stat", Url(), "l"}).out, StartsWith("  File: l -> f\n"));
  const Ran followed = Run({"stat", "-L", Url(), "l"});
  EXPECT_THAT(followed.out, AllOf(StartsWith("  File: l\n"), HasSubstr("regular file")));
}

TEST_P(CliTest, JsonHasOneObjectForEachPathInOrderAlsoForFailures) {
  File("f", "hello");
  Link("l", "f");
  const Ran ran = Run({"stat", "--json", Url(), "f", "missing", "l"});
  EXPECT_EQ(ran.exit_code, 1);
  const auto objects = ran.objects();
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0]["path"], "f");
  EXPECT_EQ(objects[0]["type"], "regular file");
  EXPECT_EQ(objects[0]["size_bytes"], 5);
  EXPECT_EQ(objects[1]["path"], "missing");
  EXPECT_EQ(objects[1]["error"]["name"], "ENOENT");
  EXPECT_EQ(objects[2]["target"], "f");
  EXPECT_THAT(ran.err, StartsWith("nfswalk: stat 'missing': No such file or directory ("));
}

TEST_P(CliTest, NamesThatAreNotUtf8AreComplete) {
  for (const char* name : {"[a,b]", "{}", "new\nline", "\xff"}) File(name);
  EXPECT_EQ(Run({"stat", Url(), "[a,b]"}).exit_code, 0);
  EXPECT_EQ(Run({"stat", Url(), "{}"}).exit_code, 0);
  EXPECT_EQ(Run({"stat", Url(), "new\nline", "\xff"}).exit_code, 0);
  const Ran listed = Run({"ls", "--json", Url()});
  EXPECT_EQ(listed.objects().size(), 4u);
  EXPECT_THAT(listed.out, HasSubstr("\"name_base64\":\"/w==\""));
}

TEST_P(CliTest, LsSortsAndHidesNamesWithADot) {
  Directory("d");
  for (const char* name : {"d/b", "d/a", "d/.hidden"}) File(name);
  EXPECT_THAT(Run({"ls", Url(), "d"}).lines(), ElementsAre("a", "b"));
  EXPECT_THAT(Run({"ls", "-a", Url(), "d"}).lines(), ElementsAre(".", "..", ".hidden", "a", "b"));
  EXPECT_THAT(Run({"ls", Url()}).lines(), ElementsAre("d"));
}

TEST_P(CliTest, LsOfSeveralPathsPutsHeadingsOnDirectories) {
  Directory("d");
  File("d/a");
  File("f");
  EXPECT_EQ(Run({"ls", Url(), "f", "d"}).out, "f\n\nd:\na\n");
}

TEST_P(CliTest, LongLsShowsRightsSizesAndTargets) {
  Directory("d");
  File("d/f", "12345");
  Link("d/l", "f");
  const auto lines = Run({"ls", "-n", Url(), "d"}).lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], StartsWith("total "));
  EXPECT_THAT(lines[1], AllOf(StartsWith("-rw-r--r-- 1 0 0 5 "), EndsWith(" f")));
  EXPECT_THAT(lines[2], AllOf(StartsWith("lrwxrwxrwx 1 0 0 1 "), EndsWith(" l -> f")));
}

TEST_P(CliTest, LsShowsEveryEntryOfALargeDirectory) {
  Directory("many");
  for (int i = 0; i < 2500; ++i) File("many/" + std::to_string(i));
  EXPECT_EQ(Run({"ls", Url(), "many"}).lines().size(), 2500u);
}

TEST_P(CliTest, ReadlinkPrintsTargetsAndRefusesTheRest) {
  Link("l", "no/such target");
  File("f");
  const Ran ran = Run({"readlink", Url(), "l", "f"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.out, "no/such target\n");
  EXPECT_THAT(ran.err, HasSubstr("readlink 'f': Invalid argument (not a symbolic link"));
}

TEST_P(CliTest, AccessChecksTheGivenUser) {
  File("f");
  ASSERT_EQ(chmod(Backing("f").c_str(), 0640), 0);
  ASSERT_EQ(chown(Backing("f").c_str(), 1000, 27), 0);
  EXPECT_EQ(Run({"access", "-r", "-w", "--uid", "1000", "--gid", "5", Url(), "f"}).out,
            "f: allowed\n");
  EXPECT_EQ(
      Run({"access", "-r", "--uid", "7", "--gid", "5", "--groups", "4,27", Url(), "f"}).exit_code,
      0);
  const Ran denied = Run({"access", "-r", "--uid", "7", "--gid", "5", Url(), "f"});
  EXPECT_EQ(denied.exit_code, 1);
  EXPECT_EQ(denied.out, "");
  EXPECT_THAT(denied.err, AllOf(HasSubstr("Permission denied"), HasSubstr("uid 7 gid 5")));
}

TEST_P(CliTest, CatIsBinarySafeAndJoinsFiles) {
  std::string large(3 * 1024 * 1024 + 7, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 + i / 256);
  File("large", large);
  File("empty");
  File("small", "end");
  const Ran ran = Run({"cat", Url(), "large", "empty", "small"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_TRUE(ran.out == large + "end") << ran.out.size() << " bytes";
}

TEST_P(CliTest, CatGoesOnAfterAFailure) {
  Directory("d");
  File("f", "data");
  const Ran ran = Run({"cat", Url(), "d", "missing", "f"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.out, "data");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("cat 'd': Is a directory"), HasSubstr("cat 'missing'")));
}

TEST_P(CliTest, OutputThatCannotBeWrittenIsAFailure) {
  File("f", "data");
  const Descriptor full(open("/dev/full", O_WRONLY));
  const Descriptor err(memfd_create("err", 0));
  EXPECT_EQ(Wait(Spawn({"cat", Url(), "f"}, full.fd, err.fd)), 1);
  EXPECT_THAT(Contents(err.fd), HasSubstr("cannot write standard output: No space left"));
}

TEST_P(CliTest, AClosedPipeEndsTheCommandSilently) {
  File("f", std::string(4 * 1024 * 1024, 'x'));
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  close(ends[0]);
  const Descriptor out(ends[1]);
  const Descriptor err(memfd_create("err", 0));
  EXPECT_EQ(Wait(Spawn({"cat", Url(), "f"}, out.fd, err.fd)), 1);
  EXPECT_EQ(Contents(err.fd), "");
}

TEST_P(CliTest, FindPrintsTheWholeTreeAndFollowsNoLinks) {
  Directory("d");
  Directory("d/sub");
  File("d/sub/x.h");
  Link("d/loop", "..");
  EXPECT_THAT(Run({"find", Url(), "d"}).lines(),
              UnorderedElementsAre("d", "d/sub", "d/sub/x.h", "d/loop"));
  EXPECT_THAT(Run({"find", Url()}).lines(),
              UnorderedElementsAre(".", "./d", "./d/sub", "./d/sub/x.h", "./d/loop"));
  EXPECT_THAT(Run({"find", Url(), "d", "--type", "l"}).lines(), ElementsAre("d/loop"));
  EXPECT_THAT(Run({"find", Url(), "d", "--name", "*.h"}).lines(), ElementsAre("d/sub/x.h"));
  EXPECT_THAT(Run({"find", Url(), "d", "--maxdepth", "0"}).lines(), ElementsAre("d"));
}

TEST_P(CliTest, FindPrintsADirectoryBeforeWhatIsInIt) {
  Directory("d");
  Directory("d/sub");
  File("d/sub/x");
  EXPECT_THAT(Run({"find", Url(), "d"}).lines(), ElementsAre("d", "d/sub", "d/sub/x"));
}

TEST_P(CliTest, FindEndsPathsWithANulWhereAsked) {
  Directory("d");
  File("d/new\nline");
  EXPECT_THAT(Split(Run({"find", Url(), "d", "--print0"}).out, '\0'),
              ElementsAre("d", "d/new\nline"));
}

TEST_P(CliTest, FindContinuesAfterAnUnreadableDirectory) {
  Directory("d");
  Directory("d/private", 0700);
  File("d/private/x");
  File("d/f");
  const Ran ran = Run({"find", "--uid", "1000", "--gid", "1000", Url(), "d"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.lines(), UnorderedElementsAre("d", "d/private", "d/f"));
  EXPECT_THAT(ran.err, HasSubstr("find 'd/private': Permission denied"));
}

TEST_P(CliTest, PathsThatCannotExistReportTheirErrno) {
  File("f");
  Link("a", "b");
  Link("b", "a");
  const auto error_of = [](const std::string& path) {
    const Ran ran = Run({"stat", "--json", Url(), path});
    EXPECT_EQ(ran.exit_code, 1);
    return ran.objects().at(0)["error"]["name"].get<std::string>();
  };
  std::string long_path = "f";
  while (long_path.size() < 4096) long_path.insert(0, "/");
  EXPECT_EQ(error_of(long_path), "ENAMETOOLONG");
  EXPECT_EQ(Run({"stat", Url(), long_path.substr(1)}).exit_code, 0);  // PATH_MAX without its NUL
  EXPECT_EQ(error_of(std::string(256, 'x')), "ENAMETOOLONG");
  EXPECT_EQ(error_of(std::string(255, 'x')), "ENOENT");
  EXPECT_EQ(error_of(""), "ENOENT");
  EXPECT_EQ(error_of("f/x"), "ENOTDIR");
  EXPECT_EQ(error_of("f/"), "ENOTDIR");
  EXPECT_EQ(error_of("a/x"), "ELOOP");
}

TEST_P(CliTest, AnExportThatCannotBeMountedIsExplained) {
  const auto refusal = [](const std::string& url) {
    const Ran ran = Run({"stat", url, "."});
    EXPECT_EQ(ran.exit_code, 3) << url;
    EXPECT_EQ(ran.out, "") << url;
    EXPECT_THAT(ran.err, StartsWith("nfswalk: mount '" + url + "': "));
    return ran.err;
  };
  const auto on = [](const std::string& location, int mount_port) {
    return "nfs://" + location + "?version=" + std::to_string(GetParam()) +
           "&mountport=" + std::to_string(mount_port);
  };
  EXPECT_THAT(refusal(on("no-such-host.invalid/export", 1)), HasSubstr("no-such-host.invalid"));
  EXPECT_THAT(refusal(on("127.0.0.1:1/export", 1)), HasSubstr("Connection refused"));
  EXPECT_THAT(refusal(on("127.0.0.1:2049/wrong", 20048)), HasSubstr("/wrong"));
  EXPECT_THAT(refusal(on("127.0.0.1:111/export", 111)), HasSubstr("111"));
}

TEST_P(CliTest, ADeadServerIsAnErrorOfTheServer) {
  server_->Kill();
  const Ran ran = Run({"ls", Url()});
  EXPECT_EQ(server_->Restart(), "");
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("Connection refused"));
}

TEST_P(CliTest, AWrongCommandLineIsExplainedWithoutContactingAServer) {
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
    const Ran ran = Run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, StartsWith("nfswalk: "));
  }
}

TEST_P(CliTest, HelpHasExamplesAndExitCodes) {
  EXPECT_THAT(Run({"--help"}).out, HasSubstr("Exit codes:"));
  for (const char* command :
       {"stat", "ls", "readlink", "access", "cat", "find", "du", "cp", "doctor"}) {
    const Ran ran = Run({command, "--help"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_THAT(ran.out, AllOf(HasSubstr("Examples:\n  nfswalk " + std::string(command)),
                               HasSubstr("Exit codes:")));
  }
}

// Standard error is a terminal; the server is stopped until the line has appeared.
TEST_P(CliTest, WaitingForAServerIsShownAndErased) {
  File("f");
  int controller = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
  const Descriptor seen(controller);
  const Descriptor out(memfd_create("out", 0));
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
  EXPECT_EQ(Wait(pid), 0);
  EXPECT_FALSE(hung) << text;
  EXPECT_THAT(text, EndsWith("\r\033[K"));
  EXPECT_EQ(Contents(out.fd), "f\n");
}

}  // namespace
}  // namespace nfswalk
