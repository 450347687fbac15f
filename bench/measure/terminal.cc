#include "bench/measure/terminal.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// Least time between two lines of progress where stderr is no terminal.
constexpr std::chrono::seconds kBetweenLines{10};

void SetFlag(int) { interrupted.store(true); }

}  // namespace

void ShowProgress(std::string_view text) {
  if (isatty(STDERR_FILENO) == 0) {
    static auto last = std::chrono::steady_clock::now();
    const auto now = std::chrono::steady_clock::now();
    if (text.empty() || now - last < kBetweenLines) return;
    last = now;
    fmt::print(stderr, "{}\n", text);
    return;
  }
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

void Warn(std::string_view bench, std::string_view text) {
  ShowProgress("");
  fmt::print(stderr, "{}: {}\n", bench, text);
}

void CatchInterrupts() {
  struct sigaction action {};
  action.sa_handler = SetFlag;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool Interrupted() { return interrupted.load(); }

}  // namespace nfswalk::bench
