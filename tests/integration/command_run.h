// command_run: runs the nfswalk command against a real nfs-ganesha, and coreutils to compare with.
#ifndef NFSWALK_TESTS_INTEGRATION_COMMAND_RUN_H_
#define NFSWALK_TESTS_INTEGRATION_COMMAND_RUN_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

using Json = nlohmann::json;
using Strings = std::vector<std::string>;

// Relative to the runfiles, where Bazel starts a test.
inline constexpr const char* kBinary = "nfsclient/cli/nfswalk";

struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) { EXPECT_GE(fd, 0); }
  ~Descriptor() { close(fd); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int fd;
};

inline std::string Contents(int fd) {
  std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return text;
}

// `arguments`: argv; the program is searched in PATH unless it has a slash.
inline pid_t SpawnProgram(Strings arguments, int out, int err) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  pid_t pid = -1;
  EXPECT_EQ(posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

inline pid_t Spawn(Strings arguments, int out, int err) {
  arguments.insert(arguments.begin(), kBinary);
  return SpawnProgram(std::move(arguments), out, err);
}

inline int Wait(pid_t pid) {
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

inline Strings Split(const std::string& text, char end) {
  Strings parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, end);) parts.push_back(part);
  return parts;
}

struct Ran {
  int exit_code = -1;
  std::string out;
  std::string err;

  Strings lines() const { return Split(out, '\n'); }
  std::vector<Json> objects() const {
    std::vector<Json> parsed;
    for (const std::string& line : lines()) parsed.push_back(Json::parse(line));
    return parsed;
  }
};

// Runs a program to its end.
inline Ran RunProgram(const Strings& arguments) {
  const Descriptor out(memfd_create("out", 0));
  const Descriptor err(memfd_create("err", 0));
  Ran ran;
  ran.exit_code = Wait(SpawnProgram(arguments, out.fd, err.fd));
  ran.out = Contents(out.fd);
  ran.err = Contents(err.fd);
  return ran;
}

class CommandRun : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0) return;
    // Each test begins with an empty export: names of earlier tests come back.
    auto started = fixtures::GaneshaServer::Start({.caches_names = false});
    ASSERT_TRUE(started.has_value()) << started.error();
    server_ = std::move(*started);
  }
  static void TearDownTestSuite() { server_.reset(); }

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "nfs-ganesha's FSAL VFS opens files by handle: needs root";
    ASSERT_NE(server_, nullptr);
    scope_ = std::make_unique<fixtures::GaneshaServer::NetworkScope>(*server_);
    root_ = server_->backing_directory();
    for (const auto& entry : std::filesystem::directory_iterator(root_)) {
      std::filesystem::remove_all(entry.path());
    }
  }

  std::filesystem::path Backing(const std::string& path) const { return root_ / path; }
  void File(const std::string& path, const std::string& contents = "") const {
    std::ofstream(Backing(path), std::ios::binary) << contents;
  }
  void Directory(const std::string& path, mode_t mode = 0755) const {
    ASSERT_EQ(mkdir(Backing(path).c_str(), mode), 0);
  }
  void Link(const std::string& path, const std::string& target) const {
    std::filesystem::create_symlink(target, Backing(path));
  }

  // Runs nfswalk with these arguments.
  static Ran Run(Strings arguments) {
    arguments.insert(arguments.begin(), kBinary);
    return RunProgram(arguments);
  }
  // Runs a shell command in the backing directory, without NFS, in the C locale; returns its
  // output.
  std::string Shell(const std::string& command) const {
    const Ran ran =
        RunProgram({"sh", "-c", "cd '" + root_.string() + "' && export LC_ALL=C && " + command});
    EXPECT_EQ(ran.exit_code, 0) << command << "\n" << ran.err;
    return ran.out;
  }

  static std::string Url() { return server_->Url("", GetParam()); }

  static inline std::unique_ptr<fixtures::GaneshaServer> server_;
  std::unique_ptr<fixtures::GaneshaServer::NetworkScope> scope_;
  std::filesystem::path root_;
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_INTEGRATION_COMMAND_RUN_H_
