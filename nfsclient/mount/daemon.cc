#include "nfsclient/mount/daemon.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace nfswalk::mount {
namespace {

constexpr char kReady = 'r';
constexpr int kDiedOfSignal = 128;  // as a shell has it
constexpr int kFirstAfterStandard = STDERR_FILENO + 1;

[[noreturn]] void AwaitChild(pid_t child, int from_child) {
  char ready = 0;
  while (read(from_child, &ready, 1) < 0 && errno == EINTR) {
  }
  if (ready == kReady) _exit(EXIT_SUCCESS);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : kDiedOfSignal + WTERMSIG(status));
}

// Closes the descriptors from `first` on. no_such_file_or_directory before Linux 5.9 without /proc.
std::errc CloseFrom(int first) {
  if (close_range(first, ~0U, 0) == 0) return {};
  DIR* const descriptors = opendir("/proc/self/fd");
  if (descriptors == nullptr) return std::errc{errno};
  std::vector<int> open_ones;
  while (const dirent* entry = readdir(descriptors)) {
    const int fd = std::atoi(entry->d_name);  // 0 of "." and ".."
    if (fd >= first && fd != dirfd(descriptors)) open_ones.push_back(fd);
  }
  closedir(descriptors);
  for (const int fd : open_ones) close(fd);
  return {};
}

}  // namespace

std::expected<Daemon, std::errc> Daemon::Start() {
  // Locks and pipes of the shell would be held as long as the mount.
  if (const std::errc error = CloseFrom(kFirstAfterStandard); error != std::errc{}) {
    return std::unexpected(error);
  }
  int ends[2];
  // Keeps the pipe off the standard descriptors, which the shell may have closed.
  do {
    ends[0] = open("/dev/null", O_RDWR);
  } while (ends[0] >= 0 && ends[0] < kFirstAfterStandard);
  close(ends[0]);
  if (pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(std::errc{errno});
  const pid_t child = fork();
  if (child < 0) {
    const std::errc error{errno};
    close(ends[0]);
    close(ends[1]);
    return std::unexpected(error);
  }
  close(child == 0 ? ends[0] : ends[1]);
  if (child != 0) AwaitChild(child, ends[0]);
  return Daemon(ends[1]);
}

bool Daemon::Detach() {
  setsid();
  // An error leaves it where it was, which is no reason to end.
  (void)!chdir("/");
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard < kFirstAfterStandard && null >= 0; ++standard) {
    dup2(null, standard);
  }
  close(null);
  const bool is_awaited = write(parent_, &kReady, 1) == 1;
  close(parent_);
  return is_awaited;
}

}  // namespace nfswalk::mount
