// benchmark_run: a benchmark as a user runs it, and the rows that it writes to stdout.
#ifndef NFSWALK_TESTS_INTEGRATION_BENCHMARK_RUN_H_
#define NFSWALK_TESTS_INTEGRATION_BENCHMARK_RUN_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/program_run.h"

namespace nfswalk {

using Json = nlohmann::json;

struct BenchmarkRun {
  int exit_code = -1;
  Json facts;  // of the first line
  std::vector<Json> rows;
  Json totals;  // of the last line; null if the run ended before
  std::string err;
};

// bench/NAME/NAME in the runfiles, in the calling thread's network.
class StartedBenchmark {
 public:
  StartedBenchmark(const std::string& name, Strings arguments);
  pid_t pid() const { return pid_; }
  // Waits for its end. Every line on stdout must be JSON of this benchmark.
  BenchmarkRun Wait();

 private:
  std::string name_;
  Descriptor out_{MemoryFile()}, err_{MemoryFile()};
  pid_t pid_;
};

BenchmarkRun RunBenchmark(const std::string& name, Strings arguments);

// Expects a row to have times that other work did not disturb, or the reason why it has none.
void ExpectTimesOrReason(const Json& row);

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_INTEGRATION_BENCHMARK_RUN_H_
