#include "tests/integration/mount_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace nfswalk {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr timespec kLookInterval{.tv_sec = 0, .tv_nsec = 2'000'000};

// Its stacks do not tell where a process sleeps.
bool IsUserModeLinux() {
  std::ifstream stream("/proc/cpuinfo");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  return text.find("User Mode Linux") != std::string::npos;
}

}  // namespace

int ErrorOf(long result) { return result < 0 ? errno : 0; }

int OpenError(const std::string& path, int flags, mode_t mode) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

std::string TextOf(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fmt::format("errno {}", errno);
  std::string text;
  char buffer[1 << 16];
  ssize_t count;
  while ((count = read(fd, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(count));
  }
  if (count < 0) text = fmt::format("errno {}", errno);
  close(fd);
  return text;
}

int WriteText(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  const ssize_t written = write(fd, text.data(), text.size());
  const int error = written < 0 ? errno : written == static_cast<ssize_t>(text.size()) ? 0 : EIO;
  return close(fd) != 0 && error == 0 ? errno : error;
}

struct stat StatOf(const std::string& path) {
  struct stat found{};
  EXPECT_EQ(lstat(path.c_str(), &found), 0) << path << ": " << strerror(errno);
  return found;
}

bool Eventually(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    nanosleep(&kLookInterval, nullptr);
  }
  return true;
}

Child::Child(const std::function<int()>& run) : pid_(fork()) {
  EXPECT_GE(pid_, 0);
  if (pid_ == 0) _exit(run());
}

Child::~Child() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

int Child::Wait() {
  int status = -1;
  if (!Eventually([&] { return waitpid(pid_, &status, WNOHANG) != 0; })) {
    ADD_FAILURE() << "does not end";
    return -1;
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool Child::IsInFuse() const {
  std::ifstream stream(fmt::format("/proc/{}/wchan", pid_));
  std::string where;
  std::getline(stream, where);
  // fs/fuse/dev.c: request_wait_answer(). Kernels that do not name it: asleep at all.
  if (where.find('_') != std::string::npos && !IsUserModeLinux()) {
    return where == "request_wait_answer";
  }
  std::ifstream stat(fmt::format("/proc/{}/stat", pid_));
  std::string ignored, state;
  stat >> ignored >> ignored >> state;
  return state == "S" || state == "D";
}

int As(uid_t uid, gid_t gid, const std::vector<gid_t>& groups, const std::function<int()>& run) {
  Child child([&] {
    if (setgroups(groups.size(), groups.data()) != 0 || setresgid(gid, gid, gid) != 0 ||
        setresuid(uid, uid, uid) != 0) {
      return EXIT_FAILURE + 200;
    }
    return run();
  });
  return child.Wait();
}

void MountRun::SetUp() {
  CommandRun::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  if (access("/dev/fuse", R_OK | W_OK) != 0) {
    GTEST_SKIP() << "/dev/fuse: " << strerror(errno) << ": the container needs the device";
  }
  if (RunProgram({"sh", "-c", "command -v fusermount3"}).exit_code != 0) {
    GTEST_SKIP() << "fusermount3 is not installed: package fuse3";
  }
  char pattern[] = "/tmp/nfswalk_mount_XXXXXX";
  ASSERT_NE(mkdtemp(pattern), nullptr);
  mount_point_ = pattern;
  ASSERT_EQ(chmod(pattern, 0755), 0);
}

void MountRun::TearDown() {
  if (mount_point_.empty()) return;
  if (mount_ > 0) {
    EXPECT_EQ(Unmount(), 0) << Messages();
  }
  rmdir(mount_point_.c_str());
}

std::string MountRun::MountLine() const {
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    if (line.find(" " + mount_point_ + " ") != std::string::npos) return line;
  }
  return {};
}

void MountRun::SpawnMount(Strings arguments) {
  mount_ = Spawn(std::move(arguments), STDERR_FILENO, messages_.fd);
}

void MountRun::Mount(const std::string& options, const std::string& below) {
  std::string url = Url();
  if (!below.empty()) url.insert(url.find('?'), "/" + below);
  MountUrl(url, options);
}

void MountRun::MountUrl(const std::string& url, const std::string& options) {
  Strings arguments{"mount", "-f", url, mount_point_};
  if (!options.empty()) arguments.insert(arguments.begin() + 1, {"-o", options});
  SpawnMount(std::move(arguments));
  ASSERT_GT(mount_, 0);
  const int process = static_cast<int>(syscall(SYS_pidfd_open, mount_, 0));
  const Descriptor ended(process);
  const Descriptor table(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  while (!IsMounted()) {
    pollfd changes[] = {{ended.fd, POLLIN, 0}, {table.fd, POLLPRI, 0}};
    ASSERT_GT(poll(changes, 2, std::chrono::milliseconds(kPatience).count()), 0) << Messages();
    if (changes[0].revents != 0) {
      const int exit_code = WaitForExit(std::exchange(mount_, -1));
      FAIL() << "mount: exit code " << exit_code << ": " << Messages();
    }
  }
}

int MountRun::Unmount() {
  // EBUSY while the kernel still releases what a process that has ended had open.
  EXPECT_TRUE(Eventually([&] {
    return RunProgram({"fusermount3", "-u", mount_point_}).exit_code == 0 || !IsMounted();
  }));
  return WaitForMount();
}

int MountRun::WaitForMount() { return WaitForExit(std::exchange(mount_, -1)); }

void MountRun::KillMount() {
  kill(mount_, SIGKILL);
  waitpid(std::exchange(mount_, -1), nullptr, 0);
}

}  // namespace nfswalk
