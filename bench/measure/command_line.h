// command_line: what the command lines of the benchmarks have in common.
#ifndef NFSWALK_BENCH_MEASURE_COMMAND_LINE_H_
#define NFSWALK_BENCH_MEASURE_COMMAND_LINE_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure/run_options.h"

namespace nfswalk::bench {

inline constexpr int kExitUsage = 2;

// The current value of an argument is the default of its option. Arguments outlive the parsing.
void AddThreads(CLI::App& app, std::vector<size_t>& threads);
void AddRepetitions(CLI::App& app, size_t& repetitions);
void AddTurnMs(CLI::App& app, uint64_t& turn_ms);  // up to a minute
void AddServer(CLI::App& app, std::string& server);
void AddJsonFile(CLI::App& app, std::string& json_file);
// --threads, --repetitions, --server and --json.
void AddRunOptions(CLI::App& app, RunOptions& options);

// An exit code if there is nothing to run: 0 after --help, kExitUsage after bad arguments,
// explained on stderr.
std::optional<int> ExitCodeOfParsing(CLI::App& app, int argc, char** argv);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_COMMAND_LINE_H_
