// cold_walk as a user runs it, over a tiny tree: what it counts and how it ends, never how long it
// takes.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
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
constexpr const char* kBinary = "bench/cold_walk/cold_walk";

std::string TempFile(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string Contents(const std::string& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

pid_t Start(Strings arguments) {
  arguments.insert(arguments.begin(), kBinary);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const auto& [fd, name] : {std::pair{STDOUT_FILENO, "out"}, {STDERR_FILENO, "err"}}) {
    posix_spawn_file_actions_addopen(&actions, fd, TempFile(name).c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
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

// The one row of its kind.
const Json& RowOf(const Json& rows, const char* subject, const char* protocol, const char* mode,
                  int threads) {
  static const Json none;
  const Json* found = &none;
  for (const Json& row : rows) {
    if (row["subject"] != subject || row["protocol"] != protocol || row["mode"] != mode ||
        row["threads"] != threads) {
      continue;
    }
    EXPECT_EQ(found, &none) << "twice: " << row;
    found = &row;
  }
  EXPECT_NE(found, &none) << subject << " " << protocol << " " << mode << " " << threads;
  return *found;
}

TEST(ColdWalkTest, CountsTheRoundTripsOfEveryWalkOverBothVersions) {
  if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
  const std::string json_file = TempFile("rows.json");
  ASSERT_EQ(ExitCode(Start({"--files", "300", "--threads", "1,4", "--repetitions", "1",
                            "--libnfs-one-in", "3", "--json", json_file})),
            0)
      << Contents(TempFile("err"));
  const Json rows = Json::parse(Contents(json_file));
  // Five settings by path and three by listing, with two numbers of threads and the raw calls;
  // libnfs; the deep file.
  EXPECT_EQ(rows.size(), (5u + 3) * 3 + 2 * 2 + 3);
  constexpr int kFiles = 300;
  const Json& whole_paths = RowOf(rows, "nfswalk nordirplus", "v4", "path", 1);
  EXPECT_EQ(whole_paths["files"], kFiles);
  EXPECT_EQ(whole_paths["rpcs"], kFiles) << "one COMPOUND a path";
  EXPECT_GT(RowOf(rows, "nfswalk nordirplus", "v3", "path", 1)["rpcs"], kFiles);
  for (const char* protocol : {"v3", "v4"}) {
    EXPECT_LT(RowOf(rows, "nfswalk", protocol, "path", 1)["rpcs"], kFiles / 4) << "listed ahead";
  }
  EXPECT_EQ(RowOf(rows, "nfswalk", "v4", "deep", 1)["rpcs"], 1);
  EXPECT_EQ(RowOf(rows, "nfswalk nocompound", "v4", "deep", 1)["rpcs"], 16);
  EXPECT_EQ(RowOf(rows, "libnfs sync", "v3", "path", 4)["rpcs"], kFiles / 3 * 7);
  EXPECT_EQ(RowOf(rows, "libnfs sync", "v4", "path", 4)["rpcs"], kFiles / 3);
  for (const char* mode : {"path", "find"}) {
    for (const auto& [protocol, suffix] :
         {std::pair{"v3", ""}, {"v4", ""}, {"v4", " nocompound"}}) {
      const std::string ours = std::string("nfswalk") + suffix;
      const std::string raw = std::string("raw calls") + suffix;
      const Json& walk = RowOf(rows, ours.c_str(), protocol, mode, 1);
      const Json& ceiling = RowOf(rows, raw.c_str(), protocol, mode, 1);
      EXPECT_EQ(walk["rpcs"], ceiling["rpcs"]) << walk;
      EXPECT_EQ(walk["files"], ceiling["files"]) << walk;
      EXPECT_EQ(ceiling["of_ceiling"], 1.0) << ceiling;
      EXPECT_GT(walk["of_ceiling"], 0.0) << walk;
      EXPECT_EQ(RowOf(rows, ours.c_str(), protocol, mode, 4)["files"], walk["files"]);
    }
  }
  EXPECT_THAT(Contents(TempFile("out")),
              testing::ContainsRegex("depth-8 path: 1 round trip +1 +reached"));
}

// A server that outlives the run, reached by --server.
class ColdWalkOnAGivenServer : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
    auto server = GaneshaServer::Start();
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
  }
  std::unique_ptr<GaneshaServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Versions, ColdWalkOnAGivenServer, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(ColdWalkOnAGivenServer, TheTreeIsMadeThroughNfsAndRemovedAgain) {
  const GaneshaServer::NetworkScope scope(*server_);
  // Both versions are walked whatever the URL says, so the ports of version 3 belong to it.
  const std::string url =
      "nfs://127.0.0.1:2049/export?mountport=20048&version=" + std::to_string(GetParam());
  EXPECT_EQ(ExitCode(Start({"--files", "20", "--repetitions", "1", "--server", url})), 0)
      << Contents(TempFile("err"));
  EXPECT_TRUE(std::filesystem::is_empty(server_->backing_directory()));
}

TEST_P(ColdWalkOnAGivenServer, AnInterruptedRunRemovesItsTree) {
  const GaneshaServer::NetworkScope scope(*server_);
  const pid_t pid =
      Start({"--files", "200", "--repetitions", "1000", "--server", server_->Url("", GetParam())});
  // It makes its tree after it has begun to listen to signals.
  while (std::filesystem::is_empty(server_->backing_directory())) std::this_thread::yield();
  kill(pid, SIGINT);
  EXPECT_EQ(ExitCode(pid), 130) << Contents(TempFile("err"));
  EXPECT_TRUE(std::filesystem::is_empty(server_->backing_directory()));
}

TEST(ColdWalkTest, AServerThatIsNotThereIsNamed) {
  EXPECT_EQ(ExitCode(Start({"--server", "nfs://127.0.0.1:1/export?version=4"})), 1);
  EXPECT_THAT(Contents(TempFile("err")), HasSubstr("cold_walk: "));
}

}  // namespace
}  // namespace nfswalk
