// warm_stat: see options.cc for what it does, or run it with --help.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "bench/console.h"
#include "bench/stop_on_signals.h"
#include "bench/warm_stat/options.h"
#include "bench/warm_stat/warm_report.h"
#include "bench/warm_stat/warm_run.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr int kFailed = 1;

int Fail(std::string_view why) {
  fmt::print(stderr, "warm_stat: {}\n", why);
  return kFailed;
}

int Run(const WarmOptions& options, const std::atomic<bool>& stop) {
  auto server =
      options.server.empty() ? ReplayServer::StartOwn() : ReplayServer::Use(options.server);
  if (!server) return Fail(server.error());
  const auto rows = RunWarmStats(options, **server, ShowProgress, stop);
  ShowProgress("");
  if (!rows) return Fail(rows.error());
  fmt::print(
      "On {}: nanoseconds of one call on one processor (median of {} turns, min-max).\n\n{}{}",
      (*server)->description(), options.repetitions, WarmTables(*rows), WarmFigures(*rows));
  if (!options.json_file.empty()) {
    const std::string error = WriteTextFile(options.json_file, WarmJson(*rows));
    if (!error.empty()) return Fail(error);
  }
  return stop.load() ? kExitInterrupted : 0;
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) {
  const auto options = nfswalk::bench::ParseWarmOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&options)) return *exit_code;
  return nfswalk::bench::Run(std::get<nfswalk::bench::WarmOptions>(options),
                             nfswalk::bench::StopOnSignals());
}
