#include "tests/integration/benchmark_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <utility>

namespace nfswalk {
namespace {

std::string OutputFile(const char* name) { return testing::TempDir() + "/benchmark_run." + name; }

}  // namespace

StartedBenchmark::StartedBenchmark(const std::string& name, Arguments arguments) : name_(name) {
  const std::string program = "bench/" + name + "/" + name;
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const auto& [fd, file] : {std::pair{STDOUT_FILENO, "out"}, {STDERR_FILENO, "err"}}) {
    posix_spawn_file_actions_addopen(&actions, fd, OutputFile(file).c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ), 0)
      << program;
  posix_spawn_file_actions_destroy(&actions);
}

BenchmarkRun StartedBenchmark::Wait() {
  BenchmarkRun run;
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  std::ostringstream err;
  err << std::ifstream(OutputFile("err")).rdbuf();
  run.err = err.str();
  std::ifstream out(OutputFile("out"));
  for (std::string line; std::getline(out, line);) {
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

BenchmarkRun RunBenchmark(const std::string& name, Arguments arguments) {
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

void ExpectRefused(const std::string& name, const std::vector<Arguments>& wrong) {
  for (const Arguments& arguments : wrong) {
    const BenchmarkRun run = RunBenchmark(name, arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments.back();
    EXPECT_TRUE(run.facts.is_null() && run.rows.empty()) << arguments.back();
    EXPECT_THAT(run.err, testing::HasSubstr(arguments.back()));
  }
}

}  // namespace nfswalk
