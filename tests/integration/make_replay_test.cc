// make_replay as a user runs it, against a real nfs-ganesha.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fixtures/ganesha_server.h"
#include "tests/fixtures/protocol_versions.h"

namespace nfswalk {
namespace {

using fixtures::GaneshaServer;
using testing::HasSubstr;
using Json = nlohmann::json;
using Strings = std::vector<std::string>;

// Relative to the runfiles, where Bazel starts a test.
constexpr const char* kBinary = "bench/make_replay/make_replay";
constexpr const char* kGitTrace = "bench/traces/git-null.strace.xz";
constexpr const char* kLinuxTrace = "bench/traces/linux-null.strace.xz";

std::string TempFile(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string Contents(const std::string& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Starts the program in the calling thread's network; its output goes to `out` and to the file
// "err".
pid_t Start(Strings arguments, int out) {
  arguments.insert(arguments.begin(), kBinary);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, TempFile("err").c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, kBinary, &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

int ExitCode(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
  Json json;
};

Outcome Replay(Strings arguments) {
  const std::string json_file = TempFile("rows.json");
  std::filesystem::remove(json_file);
  arguments.insert(arguments.end(), {"--json", json_file});
  const int out = open(TempFile("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  Outcome outcome;
  outcome.exit_code = ExitCode(Start(std::move(arguments), out));
  close(out);
  outcome.out = Contents(TempFile("out"));
  outcome.err = Contents(TempFile("err"));
  if (std::filesystem::exists(json_file)) outcome.json = Json::parse(Contents(json_file));
  return outcome;
}

std::string WriteTrace(const std::string& text) {
  const std::string file = TempFile("written.strace");
  std::ofstream(file) << text;
  return file;
}

TEST(MakeReplayTest, GitsNullMakeAnswersAsRecordedInEveryModeAndWarmWithoutAnRpc) {
  const Outcome outcome = Replay({"--trace", kGitTrace, "--seconds", "0.05", "--rounds", "1",
                                  "--threads", "1,2,4,8", "--libnfs-one-in", "20"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json["bench"], "make_replay");
  EXPECT_THAT(std::string(outcome.json["machine"]["backend"]), HasSubstr("nfs-ganesha"));
  size_t cold = 0;
  size_t warm = 0;
  for (const Json& row : outcome.json["rows"]) {
    EXPECT_EQ(row["mismatches"], 0) << row;
    EXPECT_GT(row["compared"], 0) << row;
    if (row["phase"] == "cold" && row["subject"] != "libnfs sync") {
      ++cold;
      EXPECT_GE(row["compared"], 16400) << row;
    }
    if (row["phase"] == "warm") {
      ++warm;
      EXPECT_EQ(row["rpcs"], 0) << row;
    }
    if (row["phase"] == "warm" && row["mode"] != "ref") {
      for (const Json& exits : row["need_ref"]) EXPECT_EQ(exits, 0) << row;
    }
  }
  EXPECT_EQ(cold, 5U);       // four modes and the kernel
  EXPECT_EQ(warm, 5U * 4U);  // times four numbers of threads
}

TEST(MakeReplayTest, LinuxsNullMakeIsComparedNearlyToTheLastStat) {
  const Outcome outcome = Replay({"--trace", kLinuxTrace, "--seconds", "0.05", "--rounds", "1",
                                  "--threads", "4", "--modes", "ref,rcu-search,kernel"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("258705 stat calls, 178449 ENOENT answers"));
  for (const Json& row : outcome.json["rows"]) {
    EXPECT_EQ(row["mismatches"], 0) << row;
    if (row["phase"] == "cold") {
      EXPECT_GE(row["compared"], 270000) << row;
    }
  }
}

TEST(MakeReplayTest, AServerKilledInTheMiddleOfAPassChangesNoAnswer) {
  const Outcome outcome =
      Replay({"--trace", kGitTrace, "--seconds", "0.05", "--rounds", "1", "--threads", "4",
              "--modes", "ref,rcu-search", "--kill-server-after", "2000"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("killed and restarted the server"));
  EXPECT_THAT(outcome.out, HasSubstr(" 0 differ"));
}

TEST(MakeReplayTest, AnAnswerThatNoServerCanGiveIsReportedAsADifference) {
  // Links have the mode 0777 on Linux, whatever is asked for.
  const std::string trace =
      WriteTrace("7 lstat(\"/odd\", {st_mode=S_IFLNK|0700, st_size=4, ...}) = 0\n");
  const Outcome outcome = Replay({"--trace", trace, "--seconds", "0.01", "--rounds", "1",
                                  "--threads", "1", "--modes", "rcu-search"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("line 1: stat /odd: recorded mode 120700, size 4, got mode "
                                     "120777, size 4"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr(" 0 differ")));
}

TEST(MakeReplayTest, AForeignLineIsNamedWithItsNumber) {
  const std::string trace = WriteTrace(
      "7 stat(\"/\", {st_mode=S_IFDIR|0755, st_size=0, ...}) = 0\nhello\n7 +++ exited +++\n");
  const Outcome outcome = Replay({"--trace", trace, "--modes", "kernel"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("line 2: expected \"PID CALL(ARGUMENTS) = RESULT\""));
}

// A server that outlives the run, reached by --server with the version of NFS to speak.
class GivenServerTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    auto server = GaneshaServer::Start();
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
  }
  bool NothingLeftBehind() const { return std::filesystem::is_empty(server_->backing_directory()); }
  std::string Url() const { return server_->Url("", GetParam()); }
  std::unique_ptr<GaneshaServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Versions, GivenServerTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(GivenServerTest, EveryModeAnswersAsRecordedFromATreeMadeThroughNfsAndRemovedAgain) {
  const GaneshaServer::NetworkScope scope(*server_);
  const Outcome outcome =
      Replay({"--trace", kGitTrace, "--seconds", "0.05", "--rounds", "1", "--threads", "2",
              "--modes", "ref,rcu-locked,rcu-peek,rcu-search", "--server", Url()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("device, FIFO or socket, not made through NFS"));
  size_t cold = 0;
  for (const Json& row : outcome.json["rows"]) {
    EXPECT_EQ(row["mismatches"], 0) << row;
    if (row["phase"] == "warm") {
      EXPECT_EQ(row["rpcs"], 0) << row;
    } else {
      ++cold;
      EXPECT_GE(row["compared"], 16400) << row;
    }
  }
  EXPECT_EQ(cold, 4U);
  EXPECT_TRUE(NothingLeftBehind());
}

TEST_P(GivenServerTest, AnInterruptedRunRemovesItsTree) {
  const GaneshaServer::NetworkScope scope(*server_);
  std::array<int, 2> output;
  ASSERT_EQ(pipe2(output.data(), O_CLOEXEC), 0);
  const pid_t pid =
      Start({"--trace", kGitTrace, "--seconds", "600", "--modes", "rcu-search", "--server", Url()},
            output[1]);
  close(output[1]);
  std::string said;
  std::array<char, 4096> chunk;
  while (said.find("to compare: ") == std::string::npos) {
    const ssize_t count = read(output[0], chunk.data(), chunk.size());
    ASSERT_GT(count, 0) << said << Contents(TempFile("err"));
    said.append(chunk.data(), static_cast<size_t>(count));
  }
  kill(pid, SIGINT);
  EXPECT_EQ(ExitCode(pid), 130);
  close(output[0]);
  EXPECT_TRUE(NothingLeftBehind());
}

}  // namespace
}  // namespace nfswalk
