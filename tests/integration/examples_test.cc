// The programs of docs/examples.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "tests/fixtures/mounted_export.h"
#include "tests/integration/program_run.h"

namespace nfswalk {
namespace {

class Examples : public fixtures::VersionedExport {
 protected:
  // Runs `PROGRAM URL REST` in a shell.
  ProgramRun Run(const std::string& program, const std::string& rest) {
    const fixtures::NfsServer::NetworkScope scope(server());
    return RunProgram({"sh", "-c", Command(program, rest)});
  }
  std::string Command(const std::string& program, const std::string& rest) const {
    return "exec docs/examples/" + program + " '" + server().Url("actimeo=60", version()) + "' " +
           rest;
  }
  void Touch(std::string_view name, int64_t seconds) const {
    MakeFile(name);
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, Backing(name).c_str(), times, 0), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, Examples, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(Examples, DuCountsEveryFileOnce) {
  uint64_t expected = 0;
  const auto expect = [&](const std::string& name) {
    struct stat found = {};
    ASSERT_EQ(stat(Backing(name).c_str(), &found), 0);
    expected += static_cast<uint64_t>(found.st_blocks) * 512;
  };
  for (int d = 0; d < 10; ++d) {
    const std::string above = "d" + std::to_string(d), directory = above + "/below";
    MakeDirectory(directory);
    for (int f = 0; f < 10; ++f) {
      const std::string file = directory + "/" + std::to_string(f);
      MakeFile(file, std::string(1000 * (d + f), 'x'));
      expect(file);
    }
    // Directories of a tmpfs have no blocks.
    expect(above);
    expect(directory);
  }
  std::filesystem::create_hard_link(Backing("d9/below/9"), Backing("d0/again"));
  const auto run = Run("du", Path("") + " 4");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, std::to_string(expected) + "\n");
  EXPECT_EQ(Run("du", Path("missing")).exit_code, 1);
}

TEST_P(Examples, TheEpollServerRepliesToEveryLine) {
  MakeFile("five", "hello");
  MakeFile("none");
  char place[] = "/tmp/nfswalk-XXXXXX";  // TEST_TMPDIR may be too long for a socket
  ASSERT_NE(mkdtemp(place), nullptr);
  const std::unique_ptr<char, void (*)(char*)> removed(
      place, [](char* folder) { std::filesystem::remove_all(folder); });
  const std::string fifo = std::string(place) + "/ready";
  const std::string socket_path = std::string(place) + "/socket";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  FILE* program;
  {
    fixtures::NfsServer::NetworkScope scope(server());
    program = popen(Command("stat_server", socket_path + " > " + fifo).c_str(), "w");
  }
  ASSERT_NE(program, nullptr);
  std::ifstream output(fifo);
  std::string line;
  ASSERT_TRUE(std::getline(output, line));
  ASSERT_EQ(line, "ready");

  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{AF_UNIX, {}};
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  std::multiset<std::string> expected;
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    requests += Path("five") + "\n" + Path("none") + "\n" + Path("missing") + "\n";
    expected.insert({"5 " + Path("five"), "0 " + Path("none"), "-2 " + Path("missing")});
  }
  ASSERT_EQ(write(fd, requests.data(), requests.size()), static_cast<ssize_t>(requests.size()));
  std::multiset<std::string> answers;
  FILE* const stream = fdopen(fd, "r");
  char text[4200];
  while (answers.size() < expected.size() && fgets(text, sizeof text, stream) != nullptr) {
    answers.insert(std::string(text, strcspn(text, "\n")));
  }
  EXPECT_EQ(answers, expected);
  // A client that closes before its replies arrive does not disturb the server.
  const int closing = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(closing, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(write(closing, requests.data(), requests.size()),
            static_cast<ssize_t>(requests.size()));
  close(closing);
  fclose(stream);
  EXPECT_EQ(pclose(program), 0);

  const auto refused = Run("stat_server", std::string(200, 'x'));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, testing::HasSubstr("xxx: a socket's path has at most 107 bytes"));
}

TEST_P(Examples, OutdatedTargetsAreNamedWithTheReason) {
  Touch("old.c", 1000);
  Touch("new.c", 3000);
  Touch("made.o", 2000);
  const std::string list = std::string(getenv("TEST_TMPDIR")) + "/list";
  const auto outdated = [&](const std::string& text) {
    std::ofstream(list) << text;
    const ProgramRun run = Run("up_to_date", "< " + list);
    return std::to_string(run.exit_code) + "\n" + run.out;
  };
  const std::string made = Path("made.o"), older = Path("old.c"), newer = Path("new.c");
  EXPECT_EQ(outdated(made + " " + older + "\n\n" + newer + "\n"), "0\n");
  EXPECT_EQ(outdated(made + " " + older + " " + newer), "1\n" + made + ": " + newer + "\n");
  EXPECT_EQ(outdated(Path("x") + " " + older + "\n"), "1\n" + Path("x") + ": it is missing\n");
}

}  // namespace
}  // namespace nfswalk
