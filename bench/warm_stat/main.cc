// warm_stat: stat of cached files, by depth, pattern, threads and identities.
#include <variant>

#include "bench/measure/command_line.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/progress.h"
#include "bench/warm_stat/warm_run.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kRandomFilesMax = 3'000'000;  // well below a mount's limit of dentries

void ShortenRun(WarmOptions& options) {
  options.random_files = 100'000;
  options.repetitions = 3;
  options.turn_ms = 20;
}

int Main(int argc, char** argv) {
  WarmOptions options;
  CLI::App app(
      "stat of files that are cached: nfswalk in every walk mode and with nopathcache, the "
      "kernel's stat(2) on a tmpfs with the same tree, and libnfs' nfs_stat64. All take turns.",
      "warm_stat");
  app.add_flag_callback(
      "--quick", [&] { ShortenRun(options); },
      "Fewer files and repetitions, shorter turns, where nothing else is said");
  app.add_option("--files", options.random_files, "Files of the pattern \"random\"")
      ->check(CLI::Range(uint64_t{1}, kRandomFilesMax))
      ->capture_default_str();
  AddTurnMs(app, options.turn_ms);
  AddRunOptions(app, options);
  if (const auto exit_code = ExitCodeOfParsing(app, argc, argv)) return *exit_code;
  CatchInterrupts();
  return Finish("warm_stat", RunWarmStat(options));
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
