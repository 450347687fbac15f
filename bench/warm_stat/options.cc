#include "bench/warm_stat/options.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kRandomFilesMax = 3'000'000;  // with room below a mount's limit of dentries

void ShortenRun(WarmOptions& options) {
  options.random_files = 100'000;
  options.repetitions = 3;
  options.turn_ms = 20;
}

}  // namespace

std::variant<WarmOptions, int> ParseWarmOptions(int argc, char** argv) {
  WarmOptions options;
  CLI::App app(
      "stat of files that are cached: nfswalk in every walk mode and with nopathcache, the "
      "kernel's stat(2) on a tmpfs with the same tree, and libnfs' nfs_stat64. All take turns.",
      "warm_stat");
  app.add_flag_callback(
      "--quick", [&] { ShortenRun(options); },
      "Fewer files and repetitions, shorter turns, where nothing else is said");
  app.add_option("--files", options.random_files, "Files that are asked for in random order")
      ->check(CLI::Range(uint64_t{1}, kRandomFilesMax))
      ->capture_default_str();
  AddTurnMs(app, options.turn_ms);
  AddRunOptions(app, options);
  if (const auto exit_code = ExitCodeOfParsing(app, argc, argv)) return *exit_code;
  return options;
}

}  // namespace nfswalk::bench
