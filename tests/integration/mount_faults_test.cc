// `nfswalk mount`: how it begins, ends and fails, and what a server that is away does to those who
// use it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/mount_run.h"

namespace nfswalk {
namespace {

using testing::HasSubstr;

// One of several mounts.
struct OneMount {
  std::string Text() const { return Contents(messages.fd); }

  std::string directory;
  Descriptor messages{MemoryFile()};
  pid_t process = -1;
  std::unique_ptr<Child> caller = nullptr;
};

class MountFaultsTest : public MountRun {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0) return;
    // Over version 4 open files are reclaimed after a restart.
    auto started = fixtures::NfsServer::Start({.grace_seconds = 2, .caches_names = false});
    ASSERT_TRUE(started.has_value()) << started.error();
    server_ = std::move(*started);
  }

  void TearDown() override {
    if (server_ != nullptr && !server_->running()) {
      EXPECT_EQ(server_->Restart(), "");
    }
    MountRun::TearDown();
  }

  int StatError(const std::string& name) const {
    struct stat found{};
    return ErrorOf(stat(At(name).c_str(), &found));
  }
  // A process that asks for the attributes of a file; its exit code is the errno.
  std::unique_ptr<Child> Ask(const std::string& name) const {
    return std::make_unique<Child>([this, name] { return StatError(name); });
  }
  // Makes its directory and mounts there.
  void MountOne(OneMount& mount) const {
    ASSERT_TRUE(std::filesystem::create_directory(mount.directory));
    mount.process = Spawn({"mount", "-f", "-o", "hard,actimeo=600", Url(), mount.directory},
                          STDERR_FILENO, mount.messages.fd);
    ASSERT_TRUE(Eventually([&] { return mount.Text().contains("mounted on"); }));
  }
  // How many processes serve this directory.
  size_t Servers() const { return RunProgram({"pgrep", "-f", mount_point()}).lines().size(); }
};

TEST_P(MountFaultsTest, GoesToTheBackgroundOnceMounted) {
  File("f", "text");
  EXPECT_EQ(Refusal({"mount", Url(), mount_point()}, 0), "");
  EXPECT_TRUE(IsMounted());
  EXPECT_EQ(TextOf(At("f")), "text");
  EXPECT_EQ(Servers(), 1U);
  EXPECT_EQ(RunProgram({"fusermount3", "-u", mount_point()}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return Servers() == 0; }));
}

TEST_P(MountFaultsTest, TheBackgroundHoldsNothingThatTheShellHasOpen) {
  const std::string file = At("") + "../nfswalk_lock_of_test";
  {
    const Descriptor lock(open(file.c_str(), O_RDWR | O_CREAT, 0600));  // inherited
    ASSERT_EQ(flock(lock.fd, LOCK_EX), 0);
    EXPECT_EQ(Refusal({"mount", Url(), mount_point()}, 0), "");
  }
  const Descriptor lock(open(file.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(flock(lock.fd, LOCK_EX | LOCK_NB), 0);
  std::filesystem::remove(file);
  EXPECT_EQ(RunProgram({"umount", mount_point()}).exit_code, 0);
  // A shell that has closed the standard ones.
  const std::string command =
      fmt::format("exec {} mount '{}' {} <&- >&- 2>&-", kBinary, Url(), mount_point());
  EXPECT_EQ(RunProgram({"sh", "-c", command}).exit_code, 0);
  EXPECT_TRUE(IsMounted());
  EXPECT_EQ(RunProgram({"umount", mount_point()}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return Servers() == 0; }));
}

TEST_P(MountFaultsTest, Mount8MakesNoDevicesAndSetUserIdBitsCount) {
  const std::string path = fmt::format(
      "PATH={}:{}", std::filesystem::absolute(kBinary).parent_path().string(), getenv("PATH"));
  const ProgramRun run = RunProgram({"env", path, "mount.fuse3", Url(), mount_point(), "-o",
                                     "rw,allow_other", "-t", "fuse.nfswalk"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(MountLine(), HasSubstr(" rw,nosuid,nodev,"));
  EXPECT_THAT(MountLine(), HasSubstr(",default_permissions,allow_other"));
  EXPECT_EQ(RunProgram({"umount", mount_point()}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return Servers() == 0; }));
}

TEST_P(MountFaultsTest, AcceptsTheSpellingOfMount8) {
  File("f", "text");
  EXPECT_EQ(Refusal({Url(), mount_point(), "-o", "ro,_netdev,noauto,nosuid,actimeo=1"}, 0), "");
  EXPECT_EQ(TextOf(At("f")), "text");
  EXPECT_EQ(WriteText(At("f"), ""), EROFS);
  EXPECT_EQ(RunProgram({"umount", mount_point()}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return Servers() == 0; }));
}

TEST_P(MountFaultsTest, SaysWhyItCannotMount) {
  const std::string below = At("below");
  EXPECT_THAT(Refusal({"mount", Url(), below}, 1), HasSubstr("No such file or directory"));
  std::ofstream(below) << "x";
  EXPECT_THAT(Refusal({"mount", Url(), below}, 1), HasSubstr("Not a directory"));
  EXPECT_THAT(Refusal({"mount", Url(), mount_point()}, 1), HasSubstr("not empty"));
  std::filesystem::remove(below);
  EXPECT_THAT(Refusal({"mount", "-o", "no_such_option", Url(), mount_point()}, 2),
              HasSubstr("no_such_option"));
  const std::string nowhere =
      fmt::format("nfs://127.0.0.1:1/export?version={}&mountport=1", GetParam());
  EXPECT_THAT(Refusal({"mount", nowhere, mount_point()}, 3), HasSubstr("127.0.0.1"));
  EXPECT_THAT(Refusal({"mount", "-f", nowhere, mount_point()}, 3), HasSubstr("127.0.0.1"));
  EXPECT_FALSE(IsMounted());
}

TEST_P(MountFaultsTest, EndsWhenItIsUnmountedOrTold) {
  Mount();
  EXPECT_EQ(RunProgram({"umount", mount_point()}).exit_code, 0);
  EXPECT_EQ(WaitForMount(), 0) << Messages();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    Mount();
    EXPECT_EQ(kill(mount_pid(), signal), 0);
    EXPECT_EQ(WaitForMount(), 0) << signal;
    EXPECT_FALSE(IsMounted()) << signal;
  }
}

TEST_P(MountFaultsTest, ADeadMountIsNotConnectedUntilItIsCleanedUp) {
  File("f", "text");
  Mount();
  KillMount();
  EXPECT_EQ(StatError("f"), ENOTCONN);
  EXPECT_EQ(OpenError(mount_point(), O_RDONLY), ENOTCONN);
  EXPECT_THAT(Refusal({"mount", Url(), mount_point()}, 1),
              HasSubstr("fusermount3 -u '" + mount_point() + "' cleans up"));
  EXPECT_EQ(RunProgram({"fusermount3", "-u", mount_point()}).exit_code, 0);
  Mount();
  EXPECT_EQ(TextOf(At("f")), "text");
}

TEST_P(MountFaultsTest, WaiterForADeadServerCanBeKilled) {
  File("f");
  Mount("hard,noac");
  EXPECT_EQ(StatError("f"), 0);
  server_->Kill();
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGQUIT}) {
    const auto waiting = Ask("f");
    ASSERT_TRUE(Eventually([&] { return waiting->IsInFuse(); }));
    ASSERT_EQ(kill(waiting->pid(), signal), 0);
    EXPECT_EQ(waiting->Wait(), -signal);
  }
}

TEST_P(MountFaultsTest, ACaughtSignalDoesNotEndACall) {
  File("f");
  Mount("hard,noac");
  EXPECT_EQ(StatError("f"), 0);
  server_->Kill();
  static volatile sig_atomic_t caught = 0;
  Child catching([&] {
    struct sigaction action{};
    action.sa_handler = [](int) { caught = 1; };  // without SA_RESTART
    sigaction(SIGUSR1, &action, nullptr);
    return StatError("f") == 0 && caught == 1 ? 0 : 1;
  });
  ASSERT_TRUE(Eventually([&] { return catching.IsInFuse(); }));
  ASSERT_EQ(kill(catching.pid(), SIGUSR1), 0);
  // By the time the other has died, both have been looked at.
  const auto other = Ask("f");
  ASSERT_TRUE(Eventually([&] { return other->IsInFuse(); }));
  ASSERT_EQ(kill(other->pid(), SIGTERM), 0);
  EXPECT_EQ(other->Wait(), -SIGTERM);
  EXPECT_EQ(server_->Restart(), "");
  EXPECT_EQ(catching.Wait(), 0);
}

TEST_P(MountFaultsTest, AServerThatHangsHoldsUpNoCachedAnswer) {
  File("f", "text");
  Link("link", "f");
  Mount("hard,actimeo=600");
  // access(2) asks the mount's process each time.
  ASSERT_EQ(access(At("link").c_str(), R_OK), 0);
  server_->Hang();
  std::vector<std::unique_ptr<Child>> waiting;
  for (int i = 0; i < 40; ++i) {
    waiting.push_back(Ask(fmt::format("unknown{}", i)));
  }
  for (const auto& child : waiting) {
    EXPECT_TRUE(Eventually([&] { return child->IsInFuse(); }));
  }
  Child cached([&] {
    struct stat found{};
    return access(At("link").c_str(), R_OK) == 0 && stat(At("f").c_str(), &found) == 0 &&
                   found.st_size == 4
               ? 0
               : 1;
  });
  EXPECT_EQ(cached.Wait(), 0);
  server_->Resume();
  for (const auto& child : waiting) EXPECT_EQ(child->Wait(), ENOENT);
}

// umount(8) asks statfs(2) first. Over version 4 a CLOSE is in flight.
TEST_P(MountFaultsTest, AServerThatHangsHoldsUpNoUnmount) {
  const std::vector<Strings> commands{{"fusermount3", "-u"},
                                      {"fusermount3", "-uz"},
                                      {"umount"},
                                      {"umount", "-l"},
                                      {"umount", "-f"}};
  File("f", "text");
  std::vector<OneMount> mounts;
  for (size_t i = 0; i < commands.size(); ++i) {
    MountOne(mounts.emplace_back(fmt::format("{}_{}", mount_point(), i)));
    EXPECT_EQ(TextOf(mounts[i].directory + "/f"), "text");
  }
  server_->Hang();
  for (size_t i = 0; i < commands.size(); ++i) {
    Strings command = commands[i];
    command.push_back(mounts[i].directory);
    EXPECT_EQ(RunProgram(command).exit_code, 0) << testing::PrintToString(command);
  }
  for (const OneMount& mount : mounts) {
    EXPECT_EQ(WaitForExit(mount.process), 0) << mount.Text();
    EXPECT_TRUE(std::filesystem::remove(mount.directory));
  }
  server_->Resume();
}

// A call waits for the server, with and without data that was not sent. An unmount that is lazy
// ends with the last program that uses the mount.
TEST_P(MountFaultsTest, AnEndWhileCallsWaitForAServerThatHangsSaysSo) {
  const std::vector<Strings> ends{
      {"kill", "-TERM"}, {"kill", "-HUP"}, {"umount", "-f"},
      {"umount", "-l"},  {"fusermount3", "-uz"}};
  const auto is_lazy = [](const Strings& end) { return end[1] == "-l" || end[1] == "-uz"; };
  File("f", "text");
  std::vector<OneMount> mounts;
  for (size_t i = 0; i < 2 * ends.size(); ++i) {
    OneMount& mount = mounts.emplace_back(fmt::format("{}_{}", mount_point(), i));
    MountOne(mount);
    const bool writes = i >= ends.size();
    mount.caller = std::make_unique<Child>([directory = mount.directory, writes] {
      const int fd = writes ? open((directory + "/f").c_str(), O_WRONLY) : -1;
      raise(SIGSTOP);
      struct stat found{};
      if (!writes) return stat((directory + "/unknown").c_str(), &found) == 0 ? 0 : 1;
      return write(fd, "new", 3) == 3 && fsync(fd) == 0 ? 0 : 1;
    });
    ASSERT_EQ(waitpid(mount.caller->pid(), nullptr, WUNTRACED), mount.caller->pid());
  }
  server_->Hang();
  for (size_t i = 0; i < mounts.size(); ++i) {
    OneMount& mount = mounts[i];
    ContinueInto(*mount.caller, mount.directory, i < ends.size() ? "LOOKUP" : "FSYNC");
    Strings command = ends[i % ends.size()];
    command.push_back(command[0] == "kill" ? std::to_string(mount.process) : mount.directory);
    const int exit_code = RunProgram(command).exit_code;
    // Forced, it ends the calls, and fails where one of them has not ended yet.
    EXPECT_TRUE(exit_code == 0 || command[1] == "-f") << testing::PrintToString(command);
    if (is_lazy(command)) kill(mount.caller->pid(), SIGKILL);
  }
  for (size_t i = 0; i < mounts.size(); ++i) {
    const Strings& end = ends[i % ends.size()];
    SCOPED_TRACE(testing::PrintToString(end));
    OneMount& mount = mounts[i];
    // The mount gives up a call whose caller was killed.
    if (i >= ends.size() || !is_lazy(end)) {
      EXPECT_TRUE(Eventually([&] { return mount.Text().contains("calls wait for the server"); }));
      if (i % 2 == 0) kill(mount.process, SIGTERM);  // the others wait for as long as they may
      EXPECT_TRUE(Eventually([&] { return mount.Text().contains("ends without the server"); }));
    }
    EXPECT_EQ(WaitForExit(mount.process), 0);
    EXPECT_THAT(mount.Text(), HasSubstr(mount.directory + " unmounted"));
    EXPECT_EQ(mount.caller->Wait(), is_lazy(end) ? -SIGKILL : 1);
    EXPECT_TRUE(std::filesystem::remove(mount.directory));
  }
  server_->Resume();
}

TEST_P(MountFaultsTest, ASourceIsMountedOnADirectoryOnce) {
  Mount("nonempty");
  EXPECT_THAT(Refusal({"mount", Url(), mount_point()}, 1),
              HasSubstr("is mounted there already: fusermount3 -u"));
  EXPECT_THAT(Refusal({"mount", "-o", "nonempty", Url(), mount_point()}, 1),
              HasSubstr("is mounted there already: fusermount3 -u"));
  EXPECT_EQ(RunProgram({"grep", "-c", mount_point(), "/proc/self/mounts"}).out, "1\n");
}

TEST_P(MountFaultsTest, WritersOutliveTheServer) {
  constexpr int kFiles = 300;
  constexpr int kKills = 3;
  const auto name_of = [](int i) { return fmt::format("d{}/file{}", i % 7, i); };
  const auto text_of = [](int i) {
    std::string text;
    while (text.size() < 20'000) text += fmt::format("{} of {}\n", text.size(), i);
    return text;
  };
  Mount("hard");
  Child writer([&] {
    for (int i = 0; i < kFiles; ++i) {
      if (i < 7 && mkdir(At(fmt::format("d{}", i)).c_str(), 0755) != 0) return 1;
      if (WriteText(At(name_of(i) + ".new"), text_of(i)) != 0) return 2;
      if (rename(At(name_of(i) + ".new").c_str(), At(name_of(i)).c_str()) != 0) return 3;
    }
    return 0;
  });
  for (int kills = 1; kills <= kKills; ++kills) {
    const std::string reached = Backing(name_of(kFiles * kills / (kKills + 1)));
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(reached); }));
    server_->Kill();
    ASSERT_EQ(server_->Restart(), "");
  }
  ASSERT_EQ(writer.Wait(), 0) << Messages();
  for (int i = 0; i < kFiles; ++i) {
    ASSERT_EQ(TextOf(Backing(name_of(i))), text_of(i)) << i;
    ASSERT_EQ(TextOf(At(name_of(i))), text_of(i)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, MountFaultsTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
