#include "nfsclient/cli/copy/interrupt_guard.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "nfsclient/client.h"

namespace nfswalk::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGXCPU};
// How long a server that does not answer is waited for.
constexpr std::chrono::seconds kRemovalMax{5};

// Outermost: held by those that change names, exclusively by an interrupt.
std::shared_timed_mutex g_changes;
std::atomic<bool> g_interrupted{false};  // else changes that follow each other would keep it out
std::mutex g_mutex;                      // guards g_unfinished
std::set<const std::function<void()>*> g_unfinished;

// A handler may do little: it writes the signal's number, and the guard's thread does the work.
std::array<int, 2> g_pipe = {-1, -1};

void PassOn(int signal) {
  const int saved = errno;
  const auto byte = static_cast<char>(signal);
  // A full pipe has a signal in it already.
  [[maybe_unused]] const ssize_t written = write(g_pipe[1], &byte, 1);
  errno = saved;
}

// Returns when the pipe was closed, or not at all.
void AwaitSignal(const std::function<void()>& last) {
  char signal = 0;
  ssize_t count = 0;
  do {
    count = read(g_pipe[0], &signal, 1);
  } while (count < 0 && errno == EINTR);
  if (count != 1) return;
  const Deadline deadline(Deadline::Clock::now() + kRemovalMax);
  g_interrupted.store(true);
  (void)g_changes.try_lock_for(kRemovalMax);
  const std::lock_guard lock(g_mutex);
  for (const auto* remove : g_unfinished) (*remove)();
  last();
  std::signal(signal, SIG_DFL);
  kill(getpid(), signal);
  pause();  // with the locks: nothing new begins before the process has ended
}

}  // namespace

std::string UnfinishedName() {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::array<uint8_t, 6> random;
  if (getrandom(random.data(), sizeof random, 0) < 0) return {};
  std::string name = ".nfswalk-";
  for (const uint8_t byte : random) name += kLetters[byte % kLetters.size()];
  return name;
}

Unfinished::Unfinished(std::function<void()> remove) : remove_(std::move(remove)) {
  const std::lock_guard lock(g_mutex);
  g_unfinished.insert(&remove_);
}

void Unfinished::Forget() {
  const std::lock_guard lock(g_mutex);
  g_unfinished.erase(&remove_);
}

Unfinished::Change Unfinished::BeginChange() {
  while (g_interrupted.load()) pause();
  return Change(g_changes);
}

InterruptGuard::InterruptGuard(const std::function<void()>& last) {
  if (pipe2(g_pipe.data(), O_CLOEXEC) != 0) return;  // signals stay what they were
  try {
    thread_ = std::jthread(AwaitSignal, last);
  } catch (const std::system_error&) {
    close(std::exchange(g_pipe[0], -1));
    close(std::exchange(g_pipe[1], -1));
    return;
  }
  for (const int signal : kSignals) {
    struct sigaction action{};
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
    struct sigaction action{};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == PassOn) std::signal(signal, SIG_DFL);
  }
  close(std::exchange(g_pipe[1], -1));
  thread_.join();
  close(std::exchange(g_pipe[0], -1));
}

}  // namespace nfswalk::cli
