// make_replay: see options.cc for what it does, or run it with --help.
#include <utility>
#include <variant>

#include "bench/make_replay/bench_run.h"
#include "bench/make_replay/options.h"
#include "bench/stop_on_signals.h"

int main(int argc, char** argv) {
  auto options = nfswalk::bench::ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&options)) return *exit_code;
  nfswalk::bench::BenchRun run(std::move(std::get<nfswalk::bench::Options>(options)),
                               nfswalk::bench::StopOnSignals());
  return static_cast<int>(run.Run());
}
