// `nfswalk mount`: what each way to unmount does to those who use the mount while the server hangs,
// and to what they have written.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/mount_run.h"

namespace nfswalk {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kText = "written and not sent";

class MountEndTest : public MountRun {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0) return;
    auto started =
        fixtures::NfsServer::Start({.tmpfs_bytes = uint64_t{32} << 20, .caches_names = false});
    ASSERT_TRUE(started.has_value()) << started.error();
    server_ = std::move(*started);
  }
};

enum class Use { kOpens, kWrites, kCalls };
enum class How { kRefused, kLazy, kForced };
struct Way {
  Strings command;
  How how;
};
const Way kWays[] = {{{"fusermount3", "-u"}, How::kRefused},
                     {{"umount"}, How::kRefused},
                     {{"umount", "-l"}, How::kLazy},
                     {{"fusermount3", "-uz"}, How::kLazy},
                     {{"umount", "-f"}, How::kForced}};

// One of several mounts, the process that uses it, and the command that ends it.
struct UsedMount {
  Way way;
  Use use;
  std::string directory;
  std::string file;
  Descriptor messages{MemoryFile()};
  pid_t process = -1;
  std::unique_ptr<Child> user = nullptr;
  std::unique_ptr<Child> end = nullptr;

  std::string text() const { return Contents(messages.fd); }
  std::string what() const {
    return fmt::format("{} {}", testing::PrintToString(way.command), static_cast<int>(use));
  }
};

// Opens the file, and stops until it is to go on, when the server answers again; one that calls goes
// on before that. Returns the errno.
int UseMount(const UsedMount& mount) {
  const int fd = open((mount.directory + "/" + mount.file).c_str(), O_RDWR | O_CREAT, 0644);
  if (fd < 0) return errno;
  if (mount.use == Use::kWrites && write(fd, kText.data(), kText.size()) < 0) return errno;
  raise(SIGSTOP);
  struct stat found{};
  if (mount.use == Use::kCalls) {
    return stat((mount.directory + "/unknown").c_str(), &found) == 0 ? 0 : errno;
  }
  char byte;
  if (mount.use == Use::kOpens && pread(fd, &byte, 1, 0) < 0) return errno;
  return ErrorOf(close(fd));
}

// Returns the errno that the user gets once the server answers again.
int ExpectedOf(const UsedMount& mount) {
  if (mount.way.how == How::kForced) return mount.use == Use::kCalls ? ECONNABORTED : ENOTCONN;
  return mount.use == Use::kCalls ? ENOENT : 0;
}

TEST_P(MountEndTest, WhileTheServerHangsLosesNothingThatItTakesLater) {
  std::vector<UsedMount> mounts;
  for (const Way& way : kWays) {
    for (const Use use : {Use::kOpens, Use::kWrites, Use::kCalls}) {
      const std::string number = std::to_string(mounts.size());
      mounts.push_back({way, use, mount_point() + "_" + number, "f" + number});
    }
  }
  for (UsedMount& mount : mounts) {
    ASSERT_TRUE(std::filesystem::create_directory(mount.directory));
    mount.process = Spawn({"mount", "-f", "-o", "hard,actimeo=600", Url(), mount.directory},
                          STDERR_FILENO, mount.messages.fd);
    ASSERT_TRUE(Eventually([&] { return mount.text().contains("mounted on"); }));
    mount.user = std::make_unique<Child>([&mount] { return UseMount(mount); });
    int status = 0;
    ASSERT_EQ(waitpid(mount.user->pid(), &status, WUNTRACED), mount.user->pid());
    ASSERT_TRUE(WIFSTOPPED(status)) << mount.what() << status;
  }
  server_->Hang();
  for (UsedMount& mount : mounts) {
    if (mount.use == Use::kCalls) {
      ContinueInto(*mount.user, mount.directory, "LOOKUP");
    }
    // umount(8) waits for statfs(2) first.
    mount.end = std::make_unique<Child>([&mount] {
      Strings command = mount.way.command;
      command.push_back(mount.directory);
      const ProgramRun run = RunProgram(command);
      return run.exit_code == 0 ? 0 : run.err.contains("busy") ? 1 : 2;
    });
  }
  for (UsedMount& mount : mounts) {
    SCOPED_TRACE(mount.what());
    const int ended = mount.end->Wait();
    EXPECT_EQ(ended, mount.way.how == How::kRefused ? 1 : mount.way.how == How::kLazy ? 0 : ended);
    EXPECT_LE(ended, 1) << "it says why";
    if (mount.way.how == How::kForced && mount.use != Use::kOpens) {
      // Its process waits for the call, or to write what was written.
      EXPECT_TRUE(Eventually([&] { return mount.text().contains("calls wait for the server"); }));
    }
  }
  server_->Resume();
  for (UsedMount& mount : mounts) {
    SCOPED_TRACE(mount.what());
    kill(mount.user->pid(), SIGCONT);
    EXPECT_EQ(mount.user->Wait(), ExpectedOf(mount));
    if (mount.way.how == How::kRefused) {
      EXPECT_EQ(RunProgram({"fusermount3", "-u", mount.directory}).exit_code, 0);
    }
    EXPECT_EQ(WaitForExit(mount.process), 0);
    EXPECT_THAT(mount.text(), HasSubstr(mount.directory + " unmounted"));
    EXPECT_THAT(mount.text(), Not(HasSubstr("lost")));
    EXPECT_TRUE(std::filesystem::remove(mount.directory));
    EXPECT_EQ(TextOf(Backing(mount.file)), mount.use == Use::kWrites ? kText : "");
  }
}

// Data that was written is kept (WIRE-22).
TEST_P(MountEndTest, WritesWhatACloseHasLeftThatWasInterrupted) {
  Mount("hard,actimeo=600");
  const UsedMount used{{}, Use::kWrites, mount_point(), "f"};
  Child user([&] { return UseMount(used); });
  ASSERT_EQ(waitpid(user.pid(), nullptr, WUNTRACED), user.pid());
  server_->Hang();
  ContinueInto(user, mount_point(), "FLUSH");
  kill(user.pid(), SIGKILL);
  EXPECT_EQ(user.Wait(), -SIGKILL);
  EXPECT_TRUE(Eventually([&] { return Counted("fuse_requests_total", "RELEASE") == 1; }));
  server_->Resume();
  EXPECT_EQ(Unmount(), 0);
  EXPECT_EQ(TextOf(Backing("f")), kText);
}

// The caller is told that the server has not confirmed the data.
TEST_P(MountEndTest, SaysThatACloseOfASoftMountTimedOut) {
  Mount("soft,timeo=1,retrans=0");
  const int fd = open(At("f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(write(fd, kText.data(), kText.size()), static_cast<ssize_t>(kText.size()));
  server_->Hang();
  EXPECT_EQ(ErrorOf(close(fd)), ETIMEDOUT);
  server_->Resume();
  EXPECT_EQ(Unmount(), 0);
}

TEST_P(MountEndTest, SaysWhatTheServerRefusesToTake) {
  Mount();
  Child user([&] {
    const int fd = open(At("f").c_str(), O_WRONLY | O_CREAT, 0644);
    if (write(fd, kText.data(), kText.size()) < 0) return errno;
    raise(SIGSTOP);
    return 0;
  });
  ASSERT_EQ(waitpid(user.pid(), nullptr, WUNTRACED), user.pid());
  {
    const std::string block(4096, 'x');
    const Descriptor full(open(Backing("full").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    while (write(full.fd, block.data(), block.size()) > 0) {
    }
    EXPECT_EQ(errno, ENOSPC);
  }
  kill(mount_pid(), SIGTERM);
  EXPECT_EQ(WaitForMount(), 0);
  EXPECT_THAT(Messages(), HasSubstr(mount_point() +
                                    ": data that was written is lost: No space left on device"));
  EXPECT_EQ(unlink(Backing("full").c_str()), 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, MountEndTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
