#include "nfsclient/cli/progress_thread.h"

#include <chrono>
#include <system_error>

namespace nfswalk::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{200};

}  // namespace

ProgressThread::ProgressThread(Console& console) : console_(console) {
  if (!console.err_is_terminal()) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  } catch (const std::system_error&) {
    // No progress is shown then.
  }
}

void ProgressThread::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    stopped_.wait_for(lock, stop, kInterval, [] { return false; });
    if (!stop.stop_requested()) console_.ShowProgress(Console::Clock::now());
  }
}

}  // namespace nfswalk::cli
