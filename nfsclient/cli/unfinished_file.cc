#include "nfsclient/cli/unfinished_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

namespace nfswalk::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kNamesTried = 100;  // for one that is not taken

// What a signal has to remove. The mutex is held while a name comes or goes, so that no file is in
// the directory of which a signal does not know.
std::mutex g_mutex;
int g_directory = -1;
std::string g_unfinished;

// A handler may do little: it writes the signal's number, and the guard's thread does the work.
std::array<int, 2> g_pipe = {-1, -1};

std::errc Errno() { return static_cast<std::errc>(errno); }

// "" without the kernel's random numbers.
std::string RandomName() {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::array<uint8_t, 6> random;
  if (getrandom(random.data(), sizeof random, 0) < 0) return {};
  std::string name = ".nfswalk-";
  for (const uint8_t byte : random) name += kLetters[byte % kLetters.size()];
  return name;
}

// Calls `create` with names until one is not taken; returns what it returned last, -1 with errno.
// Preconditions: g_mutex is held.
template <class Create>
int WithFreeName(int directory, std::string& name, Create&& create) {
  int result = -1;
  for (int i = 0; i < kNamesTried; ++i) {
    const std::string tried = RandomName();
    result = create(tried.c_str());
    if (result < 0 && errno == EEXIST) continue;
    if (result >= 0) {
      g_directory = directory;
      g_unfinished = name = tried;
    }
    break;
  }
  return result;
}

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
  if (!g_unfinished.empty()) unlinkat(g_directory, g_unfinished.c_str(), 0);
  std::signal(signal, SIG_DFL);
  kill(getpid(), signal);
  pause();  // with the lock: nothing new begins before the process has ended
}

}  // namespace

UnfinishedFile::~UnfinishedFile() {
  if (name_.empty()) return;
  const std::lock_guard lock(g_mutex);
  unlinkat(directory_, name_.c_str(), 0);
  g_unfinished.clear();
}

std::errc UnfinishedFile::Create(int directory) {
  const std::lock_guard lock(g_mutex);
  directory_ = directory;
  const int fd = WithFreeName(directory, name_, [directory](const char* name) {
    return openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  });
  if (fd < 0) return Errno();
  descriptor_ = LocalDescriptor(fd);
  return {};
}

std::errc UnfinishedFile::CreateLink(int directory, const std::string& target) {
  const std::lock_guard lock(g_mutex);
  directory_ = directory;
  const int made = WithFreeName(directory, name_, [&](const char* name) {
    return symlinkat(target.c_str(), directory, name);
  });
  if (made < 0) return Errno();
  descriptor_ = LocalDescriptor(openat(directory, name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  if (!descriptor_.is_open() || fstat(descriptor_.get(), &found) != 0) return Errno();
  // Whoever may write in the directory may have put a link to another file there.
  return S_ISLNK(found.st_mode) && found.st_nlink == 1 ? std::errc{} : std::errc::file_exists;
}

std::errc UnfinishedFile::Write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t written = write(descriptor_.get(), data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Errno();
    data = data.subspan(static_cast<size_t>(written));
  }
  return {};
}

std::errc UnfinishedFile::Finish(const std::string& name) {
  if (const std::errc error = descriptor_.Sync(); error != std::errc{}) return error;
  if (const std::errc error = descriptor_.Close(); error != std::errc{}) return error;
  const std::lock_guard lock(g_mutex);
  if (renameat(directory_, name_.c_str(), directory_, name.c_str()) != 0) return Errno();
  g_unfinished.clear();
  name_.clear();
  return {};
}

InterruptGuard::InterruptGuard() {
  if (pipe2(g_pipe.data(), O_CLOEXEC) != 0) return;  // signals stay what they were
  try {
    thread_ = std::jthread(AwaitSignal);
  } catch (const std::system_error&) {
    close(std::exchange(g_pipe[0], -1));
    close(std::exchange(g_pipe[1], -1));
    return;
  }
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
