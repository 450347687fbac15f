// command_run: runs the nfswalk command against a real nfs-ganesha, and coreutils to compare with.
#ifndef NFSWALK_TESTS_INTEGRATION_COMMAND_RUN_H_
#define NFSWALK_TESTS_INTEGRATION_COMMAND_RUN_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fixtures/nfs_server.h"
#include "tests/fixtures/protocol_versions.h"
#include "tests/integration/program_run.h"

namespace nfswalk {

using Json = nlohmann::json;

// Relative to the runfiles, where Bazel starts a test.
inline constexpr const char* kBinary = "nfsclient/cli/nfswalk";

// Parses one JSON object a line.
inline std::vector<Json> Objects(const ProgramRun& run) {
  std::vector<Json> parsed;
  for (const std::string& line : run.lines()) parsed.push_back(Json::parse(line));
  return parsed;
}

class CommandRun : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0) return;
    // Each test begins with an empty export: names of earlier tests come back.
    auto started = fixtures::NfsServer::Start({.caches_names = false});
    ASSERT_TRUE(started.has_value()) << started.error();
    server_ = std::move(*started);
  }
  static void TearDownTestSuite() { server_.reset(); }

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "nfs-ganesha's FSAL VFS opens files by handle: needs root";
    ASSERT_NE(server_, nullptr);
    scope_ = std::make_unique<fixtures::NfsServer::NetworkScope>(*server_);
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
  static ProgramRun Run(Strings arguments) {
    arguments.insert(arguments.begin(), kBinary);
    return RunProgram(arguments);
  }
  static pid_t Spawn(Strings arguments, int out, int err) {
    arguments.insert(arguments.begin(), kBinary);
    return SpawnProgram(std::move(arguments), out, err);
  }
  // Expects an exit code and no output; returns the messages.
  static std::string Refusal(const Strings& arguments, int exit_code) {
    const ProgramRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, exit_code) << testing::PrintToString(arguments);
    EXPECT_EQ(run.out, "") << testing::PrintToString(arguments);
    return run.err;
  }
  // Runs a shell command in the backing directory, without NFS, in the C locale; returns its
  // output.
  std::string Shell(const std::string& command) const {
    const ProgramRun run =
        RunProgram({"sh", "-c", "cd '" + root_.string() + "' && export LC_ALL=C && " + command});
    EXPECT_EQ(run.exit_code, 0) << command << "\n" << run.err;
    return run.out;
  }
  // Expects `nfswalk COMMAND FLAGS URL PATHS` to print the lines of `PROGRAM FLAGS PATHS`. With
  // `sorts`, in any order: that of directory entries is the server's.
  void ExpectAs(const std::string& program, const std::string& command, const std::string& flags,
                const std::string& paths, bool sorts) const {
    Strings arguments{command};
    for (const std::string& flag : Split(flags, ' ')) arguments.push_back(flag);
    arguments.push_back(Url());
    for (const std::string& path : Split(paths, ' ')) arguments.push_back(path);
    const ProgramRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    Strings found = run.lines(), expected = Split(Shell(program + " " + flags + " " + paths), '\n');
    EXPECT_FALSE(expected.empty()) << program << " " << flags << " " << paths;
    if (sorts) {
      std::ranges::sort(found);
      std::ranges::sort(expected);
    }
    EXPECT_EQ(found, expected) << program << " " << flags << " " << paths << "; first difference: "
                               << FirstDifference(found, expected);
  }
  // gtest shows the first 32 only.
  static std::string FirstDifference(const Strings& found, const Strings& expected) {
    const auto [ours, theirs] = std::ranges::mismatch(found, expected);
    return "'" + (ours == found.end() ? "" : *ours) + "', '" +
           (theirs == expected.end() ? "" : *theirs) + "'";
  }

  static std::string Url() { return server_->Url("", GetParam()); }

  static inline std::unique_ptr<fixtures::NfsServer> server_;
  std::unique_ptr<fixtures::NfsServer::NetworkScope> scope_;
  std::filesystem::path root_;
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_INTEGRATION_COMMAND_RUN_H_
