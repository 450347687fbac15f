// make_replay: see options.cc for what it does, or run it with --help.
#include <atomic>
#include <csignal>
#include <utility>
#include <variant>

#include "bench/make_replay/bench_run.h"
#include "bench/make_replay/options.h"

namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void RequestStop(int) { stop_requested.store(true); }

// The first Ctrl-C cleans up; a second one ends the process, with which our own server and tmpfs
// vanish.
void StopOnSignals() {
  struct sigaction action {};
  action.sa_handler = RequestStop;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  auto options = nfswalk::bench::ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&options)) return *exit_code;
  StopOnSignals();
  nfswalk::bench::BenchRun run(std::move(std::get<nfswalk::bench::Options>(options)),
                               stop_requested);
  return static_cast<int>(run.Run());
}
