// cold_walk: see options.cc for what it does, or run it with --help.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "bench/cold_walk/cold_report.h"
#include "bench/cold_walk/cold_run.h"
#include "bench/cold_walk/options.h"
#include "bench/cold_walk/raw_calls.h"
#include "bench/console.h"
#include "bench/stop_on_signals.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr int kFailed = 1;

int Fail(std::string_view why) {
  fmt::print(stderr, "cold_walk: {}\n", why);
  return kFailed;
}

int Run(const ColdOptions& options, const std::atomic<bool>& stop) {
  auto server =
      options.server.empty() ? ReplayServer::StartOwn() : ReplayServer::Use(options.server);
  if (!server) return Fail(server.error());
  const auto rows = RunColdWalks(options, **server, ShowProgress, stop);
  ShowProgress("");
  if (!rows) return Fail(rows.error());
  fmt::print(
      "On {}: {} files at depth {} in directories of {}; medians of {} turns; the ceiling has {} "
      "calls in flight.\n\n{}\n{}",
      (*server)->description(), options.files, ColdTree::kDepth, ColdTree::kFilesPerDirectory,
      options.repetitions, kRawWindow, ColdTable(*rows), FiguresText(*rows));
  if (!options.json_file.empty()) {
    const std::string error = WriteTextFile(options.json_file, ColdJson(*rows));
    if (!error.empty()) return Fail(error);
  }
  return stop.load() ? kExitInterrupted : 0;
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) {
  const auto options = nfswalk::bench::ParseColdOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&options)) return *exit_code;
  return nfswalk::bench::Run(std::get<nfswalk::bench::ColdOptions>(options),
                             nfswalk::bench::StopOnSignals());
}
