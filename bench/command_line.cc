#include "bench/command_line.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kThreadsMax = 256;
constexpr size_t kRepetitionsMax = 1000;
constexpr uint64_t kTurnMsMax = 60'000;

}  // namespace

void AddRepetitions(CLI::App& app, size_t& repetitions) {
  app.add_option("--repetitions", repetitions, "Of which the median counts")
      ->check(CLI::Range(size_t{1}, kRepetitionsMax))
      ->capture_default_str();
}

void AddTurnMs(CLI::App& app, uint64_t& turn_ms) {
  app.add_option("--turn-ms", turn_ms, "How long each repetition takes")
      ->check(CLI::Range(uint64_t{1}, kTurnMsMax))
      ->capture_default_str();
}

void AddJsonFile(CLI::App& app, std::string& json_file) {
  app.add_option("--json", json_file, "Write the rows to this file too");
}

void AddRunOptions(CLI::App& app, RunOptions& options) {
  app.add_option("--threads", options.threads, "Numbers of threads, one row each")
      ->delimiter(',')
      ->check(CLI::Range(size_t{1}, kThreadsMax))
      ->capture_default_str();
  AddRepetitions(app, options.repetitions);
  app.add_option("--server", options.server,
                 "Run on this nfs:// URL, in a new directory there as uid 0 [an nfs-ganesha of our "
                 "own]");
  AddJsonFile(app, options.json_file);
}

std::optional<int> ExitCodeOfParsing(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports through exceptions; none passes on from here.
    return app.exit(error) == 0 ? 0 : 2;
  }
  return {};
}

}  // namespace nfswalk::bench
