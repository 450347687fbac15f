#include "nfsclient/mount/interrupts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace nfswalk::mount {
namespace {

// How often the callers of interrupted requests are looked at: a later signal is not told.
constexpr std::chrono::milliseconds kWatchInterval{100};

constexpr uint64_t BitOf(int signal) { return uint64_t{1} << (signal - 1); }

// signal(7): what these do unless the process says otherwise ends nothing.
constexpr uint64_t kHarmless = BitOf(SIGCHLD) | BitOf(SIGCONT) | BitOf(SIGURG) | BitOf(SIGWINCH) |
                               BitOf(SIGSTOP) | BitOf(SIGTSTP) | BitOf(SIGTTIN) | BitOf(SIGTTOU);

}  // namespace

bool ProcShowsCallers() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self", error) == std::to_string(getpid());
}

bool IsBeingKilled(pid_t thread) {
  if (!ProcShowsCallers()) return true;
  // /proc/TID is there for threads, too.
  std::ifstream status(fmt::format("/proc/{}/status", thread));
  uint64_t pending = 0;
  uint64_t handled = 0;  // or ignored, or blocked
  bool complete = false;
  for (std::string line; std::getline(status, line);) {
    const std::string_view text = line;
    const size_t colon = text.find(":\t");
    if (colon == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, colon);
    const bool is_pending = name == "SigPnd" || name == "ShdPnd";
    if (!is_pending && name != "SigBlk" && name != "SigIgn" && name != "SigCgt") continue;
    uint64_t signals = 0;
    std::from_chars(text.data() + colon + 2, text.data() + text.size(), signals, 16);
    (is_pending ? pending : handled) |= signals;
    complete = name == "SigCgt";  // the last of them
  }
  if (!complete) return true;
  // A signal that ends the process arrives as SIGKILL in each of its threads (complete_signal()),
  // one that dumps core arrives as itself.
  return (pending & (BitOf(SIGKILL) | ~(handled | kHarmless))) != 0;
}

Interrupts::Entry::Entry(Interrupts& interrupts, pid_t caller, Cancellation& cancellation,
                         Ends ends)
    : interrupts_(interrupts), id_(interrupts.Add({caller, &cancellation, ends})) {}

Interrupts::Entry::~Entry() {
  const std::lock_guard lock(interrupts_.mutex_);
  const auto found = interrupts_.waiting_.find(id_);
  if (found->second.interrupted) --interrupts_.interrupted_;
  interrupts_.waiting_.erase(found);
}

uint64_t Interrupts::Add(const Waiting& waiting) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace(++last_id_, waiting);
  if (ending_ && waiting.ends == Ends::kAtOnce) waiting.cancellation->Cancel();
  return last_id_;
}

void Interrupts::EndThoseAtOnce() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  for (const auto& [id, waiting] : waiting_) {
    if (waiting.ends == Ends::kAtOnce) waiting.cancellation->Cancel();
  }
}

void Interrupts::Interrupt(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end() || found->second.interrupted) return;
  found->second.interrupted = true;
  ++interrupted_;
  if (found->second.ends == Ends::kAtOnce) found->second.cancellation->Cancel();
  interrupted_some_.notify_one();
}

void Interrupts::Watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (interrupted_some_.wait(lock, stop, [&] { return interrupted_ != 0; })) {
    for (const auto& [id, waiting] : waiting_) {
      if (waiting.interrupted && IsBeingKilled(waiting.caller)) waiting.cancellation->Cancel();
    }
    // Woken early only by the end: waits for no condition.
    interrupted_some_.wait_for(lock, stop, kWatchInterval, [] { return false; });
  }
}

}  // namespace nfswalk::mount
