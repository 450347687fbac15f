// command_line: what the command lines of the benchmarks have in common.
#ifndef NFSWALK_BENCH_MEASURE_COMMAND_LINE_H_
#define NFSWALK_BENCH_MEASURE_COMMAND_LINE_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure/outcome.h"

namespace nfswalk::bench {

// Holds the options that most benchmarks have.
struct RunOptions {
  std::vector<size_t> threads;
  size_t repetitions = 1;
  std::string server = {};     // an nfs:// URL; empty: a server of our own
  std::string json_file = {};  // empty: stdout
};

// The current value of an argument is the default of its option. Arguments outlive the parsing.
void AddThreads(CLI::App& app, std::vector<size_t>& threads);
void AddRepetitions(CLI::App& app, size_t& repetitions);
void AddTurnMs(CLI::App& app, uint64_t& turn_ms);  // up to a minute
void AddJsonFile(CLI::App& app, std::string& json_file);
// --threads, --repetitions, --server and --json.
void AddRunOptions(CLI::App& app, RunOptions& options);

// Parses the arguments, calls `run` with the signals of CatchInterrupts() caught, and returns the
// exit code: 0 also after --help, 1 after an error of `run`, 2 after bad arguments, 130 after an
// interrupt. Explains all but 0 and 130 on stderr.
int RunBenchmark(CLI::App& app, int argc, char** argv, const std::function<Outcome()>& run);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_COMMAND_LINE_H_
