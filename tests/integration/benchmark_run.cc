#include "tests/integration/benchmark_run.h"

#include <utility>

namespace nfswalk {

StartedBenchmark::StartedBenchmark(const std::string& name, Strings arguments) : name_(name) {
  arguments.insert(arguments.begin(), "bench/" + name + "/" + name);
  pid_ = SpawnProgram(std::move(arguments), out_.fd, err_.fd);
}

BenchmarkRun StartedBenchmark::Wait() {
  BenchmarkRun run;
  run.exit_code = WaitForExit(pid_);
  run.err = Contents(err_.fd);
  for (const std::string& line : Split(Contents(out_.fd), '\n')) {
    Json row = Json::parse(line, nullptr, false);
    if (!row.is_object() || row.value("bench", "") != name_) {
      ADD_FAILURE() << "not a row of " << name_ << ": " << line;
    } else if (row.contains("facts")) {
      run.facts = row["facts"];
    } else if (row.contains("totals")) {
      run.totals = row["totals"];
    } else {
      run.rows.push_back(std::move(row));
    }
  }
  return run;
}

BenchmarkRun RunBenchmark(const std::string& name, Strings arguments) {
  return StartedBenchmark(name, std::move(arguments)).Wait();
}

void ExpectTimesOrReason(const Json& row) {
  if (row.contains("disturbed")) {
    EXPECT_NE(row["disturbed"], "") << row;
    for (const char* key : {"ns_per_op", "ns_min", "ns_max"})
      EXPECT_FALSE(row.contains(key)) << row;
    return;
  }
  EXPECT_GT(row.value("ns_min", 0.0), 0) << row;
  EXPECT_LE(row.value("ns_min", 0.0), row.value("ns_per_op", 0.0)) << row;
  EXPECT_LE(row.value("ns_per_op", 0.0), row.value("ns_max", 0.0)) << row;
  EXPECT_GE(row.value("turns", 0), 1) << row;
  EXPECT_GE(row.value("share", 0.0), 0.95) << row;
}

}  // namespace nfswalk
