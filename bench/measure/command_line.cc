#include "bench/measure/command_line.h"

#include "bench/measure/terminal.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kThreadsMax = 256;
constexpr size_t kRepetitionsMax = 1000;
constexpr uint64_t kTurnMsMax = 60'000;

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;  // what a shell returns for a process that SIGINT ended

}  // namespace

void AddThreads(CLI::App& app, std::vector<size_t>& threads) {
  app.add_option("--threads", threads, "Numbers of threads, one row each")
      ->delimiter(',')
      ->check(CLI::Range(size_t{1}, kThreadsMax))
      ->capture_default_str();
}

void AddRepetitions(CLI::App& app, size_t& repetitions) {
  app.add_option("--repetitions", repetitions,
                 "Undisturbed turns of a row, of which the median counts")
      ->check(CLI::Range(size_t{1}, kRepetitionsMax))
      ->capture_default_str();
}

void AddTurnMs(CLI::App& app, uint64_t& turn_ms) {
  app.add_option("--turn-ms", turn_ms, "How long a turn takes")
      ->check(CLI::Range(uint64_t{1}, kTurnMsMax))
      ->capture_default_str();
}

void AddJsonFile(CLI::App& app, std::string& json_file) {
  app.add_option("--json", json_file, "Write the rows to this file [stdout]");
}

void AddRunOptions(CLI::App& app, RunOptions& options) {
  AddThreads(app, options.threads);
  AddRepetitions(app, options.repetitions);
  app.add_option("--server", options.server,
                 "Run on this nfs:// URL, in a new directory there as uid 0 [an nfs-ganesha of our "
                 "own]");
  AddJsonFile(app, options.json_file);
}

int RunBenchmark(CLI::App& app, int argc, char** argv, const std::function<Outcome()>& run) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports through exceptions; none passes on from here.
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  CatchInterrupts();
  const Outcome outcome = run();
  ShowProgress("");
  if (!outcome) Warn(app.get_name(), outcome.error());
  if (!outcome) return kExitFailed;
  return Interrupted() ? kExitInterrupted : 0;
}

}  // namespace nfswalk::bench
