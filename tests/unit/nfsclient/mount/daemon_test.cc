#include "nfsclient/mount/daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <new>
#include <vector>

namespace {

bool g_is_old_kernel = false;

}  // namespace

// Takes the place of the C library's in this program. Linux before 5.9 has no such call.
extern "C" int close_range(unsigned first, unsigned last, int flags) noexcept {
  if (!g_is_old_kernel) return static_cast<int>(syscall(SYS_close_range, first, last, flags));
  errno = ENOSYS;
  return -1;
}

namespace nfswalk::mount {
namespace {

constexpr int kHeld = 1, kNotStarted = 2;

class BackgroundTest : public testing::TestWithParam<bool> {};

// A shell's lock or pipe would be held as long as the mount.
TEST_P(BackgroundTest, HoldsNoDescriptorOfItsParent) {
  g_is_old_kernel = GetParam();
  const pid_t child = fork();
  if (child == 0) {
    std::vector<int> held;
    for (const int at_least : {3, 9, 64, 1000}) {
      held.push_back(fcntl(STDERR_FILENO, F_DUPFD, at_least));
      if (held.back() < at_least) _exit(kNotStarted);
    }
    auto daemon = Daemon::Start();  // the parent ends in it
    if (!daemon) _exit(kNotStarted);
    // The first ones are those of the pipe to the parent.
    bool any = false;
    for (const int fd : held) any = any || (fd > 8 && fcntl(fd, F_GETFD) != -1);
    _exit(any ? kHeld : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

INSTANTIATE_TEST_SUITE_P(Kernels, BackgroundTest, testing::Bool(), [](const auto& info) {
  return info.param ? "WithoutCloseRange" : "WithCloseRange";
});

class BackgroundParentTest : public testing::TestWithParam<bool> {};

// A supervisor has killed what it began, and believes that nothing is left of it.
TEST_P(BackgroundParentTest, IsKnownToWaitOrNot) {
  const bool is_killed = GetParam();
  void* const shared = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const told = new (shared) std::atomic<int>(-1);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGPIPE, SIG_IGN);
    const pid_t waiting = getpid();
    auto daemon = Daemon::Start();
    if (!daemon) _exit(kNotStarted);
    if (is_killed) kill(waiting, SIGKILL);
    while (is_killed && getppid() == waiting) {
    }
    told->store(daemon->Detach() ? 1 : 0);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFSIGNALED(status), is_killed);
  while (told->load() < 0) {
  }
  EXPECT_EQ(told->load(), is_killed ? 0 : 1);
  munmap(shared, sizeof(std::atomic<int>));
}

INSTANTIATE_TEST_SUITE_P(Parents, BackgroundParentTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Killed" : "Waiting"; });

}  // namespace
}  // namespace nfswalk::mount
