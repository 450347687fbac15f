// benchmark_run: a benchmark as a user runs it, and the rows that it writes to stdout.
#ifndef NFSWALK_TESTS_INTEGRATION_BENCHMARK_RUN_H_
#define NFSWALK_TESTS_INTEGRATION_BENCHMARK_RUN_H_

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nfswalk {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

struct BenchmarkRun {
  int exit_code = -1;  // -1: could not be started, or was killed by a signal
  Json facts;          // of the first line
  std::vector<Json> rows;
  Json totals;  // of the last line; null if the run ended before
  std::string err;
};

// bench/NAME/NAME in the runfiles, in the calling thread's network. One at a time.
class StartedBenchmark {
 public:
  StartedBenchmark(const std::string& name, Arguments arguments);
  pid_t pid() const { return pid_; }
  // Waits for its end. Every line on stdout must be JSON of this benchmark.
  BenchmarkRun Wait();

 private:
  const std::string name_;
  pid_t pid_ = -1;
};

BenchmarkRun RunBenchmark(const std::string& name, Arguments arguments);

// Expects a row to have times that other work did not disturb, or the reason why it has none.
void ExpectTimesOrReason(const Json& row);

// Expects each command line to be refused with exit code 2, without rows, and with its last
// argument named.
void ExpectRefused(const std::string& name, const std::vector<Arguments>& wrong);

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_INTEGRATION_BENCHMARK_RUN_H_
