#include "nfsclient/cli/unfinished_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace nfswalk::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kLinkNames = 100;  // tries for one that is not taken

// What a signal has to remove. The mutex is held while a name comes or goes, so that no file is in
// the directory of which a signal does not know.
std::mutex g_mutex;
std::string g_unfinished;

// A handler may do little: it writes the signal's number, and the guard's thread does the work.
std::array<int, 2> g_pipe = {-1, -1};

std::errc Errno() { return static_cast<std::errc>(errno); }

std::string Template(const std::string& directory) { return directory + "/.nfswalk-XXXXXX"; }

void PassOn(int signal) {
  const int saved = errno;
  const auto byte = static_cast<char>(signal);
  // A full pipe has a signal in it already.
  [[maybe_unused]] const ssize_t written = write(g_pipe[1], &byte, 1);
  errno = saved;
}

// Returns when the pipe was closed, or not at all.
void AwaitSignal() {
  char signal = 0;
  ssize_t count = 0;
  do {
    count = read(g_pipe[0], &signal, 1);
  } while (count < 0 && errno == EINTR);
  if (count != 1) return;
  const std::lock_guard lock(g_mutex);
  if (!g_unfinished.empty()) unlink(g_unfinished.c_str());
  std::signal(signal, SIG_DFL);
  kill(getpid(), signal);
  pause();  // with the lock: nothing new begins before the process has ended
}

}  // namespace

UnfinishedFile::~UnfinishedFile() {
  (void)Close();
  if (path_.empty()) return;
  const std::lock_guard lock(g_mutex);
  unlink(path_.c_str());
  g_unfinished.clear();
}

std::errc UnfinishedFile::Create(const std::string& directory) {
  std::string path = Template(directory);
  const std::lock_guard lock(g_mutex);
  fd_ = mkostemp(path.data(), O_CLOEXEC);
  if (fd_ < 0) return Errno();
  g_unfinished = path;
  path_ = std::move(path);
  return {};
}

std::errc UnfinishedFile::CreateLink(const std::string& directory, const std::string& target) {
  for (int i = 0; i < kLinkNames; ++i) {
    std::string path = Template(directory);
    const std::lock_guard lock(g_mutex);
    const int fd = mkostemp(path.data(), O_CLOEXEC);  // for a unique name
    if (fd < 0) return Errno();
    close(fd);
    unlink(path.c_str());
    if (symlink(target.c_str(), path.c_str()) == 0) {
      g_unfinished = path;
      path_ = std::move(path);
      return {};
    }
    if (errno != EEXIST) return Errno();
  }
  return std::errc::file_exists;
}

std::errc UnfinishedFile::Write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t written = write(fd_, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Errno();
    data = data.subspan(static_cast<size_t>(written));
  }
  return {};
}

std::errc UnfinishedFile::SetMode(uint32_t mode) {
  return fchmod(fd_, mode) == 0 ? std::errc{} : Errno();
}

std::errc UnfinishedFile::SetTimes(const Attributes& attributes) {
  const auto spec = [](const protocol::Time& time) {
    return timespec{time.seconds, static_cast<long>(time.nanoseconds)};
  };
  const std::array times{spec(attributes.atime), spec(attributes.mtime)};
  return utimensat(AT_FDCWD, path_.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) == 0 ? std::errc{}
                                                                                    : Errno();
}

std::errc UnfinishedFile::Finish(const std::string& path) {
  if (const std::errc error = Close(); error != std::errc{}) return error;
  const std::lock_guard lock(g_mutex);
  if (rename(path_.c_str(), path.c_str()) != 0) return Errno();
  g_unfinished.clear();
  path_.clear();
  return {};
}

// A full disk may show only here.
std::errc UnfinishedFile::Close() {
  if (fd_ < 0) return {};
  return close(std::exchange(fd_, -1)) == 0 ? std::errc{} : Errno();
}

InterruptGuard::InterruptGuard() {
  if (pipe2(g_pipe.data(), O_CLOEXEC) != 0) return;  // signals stay what they were
  thread_ = std::jthread(AwaitSignal);
  for (const int signal : kSignals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action.sa_handler = PassOn;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  if (!thread_.joinable()) return;
  for (const int signal : kSignals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == PassOn) std::signal(signal, SIG_DFL);
  }
  close(std::exchange(g_pipe[1], -1));
  thread_.join();
  close(std::exchange(g_pipe[0], -1));
}

}  // namespace nfswalk::cli
