#include "bench/stop_on_signals.h"

#include <csignal>

namespace nfswalk::bench {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void RequestStop(int) { stop_requested.store(true); }

}  // namespace

const std::atomic<bool>& StopOnSignals() {
  struct sigaction action {};
  action.sa_handler = RequestStop;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  return stop_requested;
}

}  // namespace nfswalk::bench
