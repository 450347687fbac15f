// bench_run: one run of make_replay: server, trees, subjects, turns, report.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_BENCH_RUN_H_
#define NFSWALK_BENCH_MAKE_REPLAY_BENCH_RUN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/make_replay/options.h"
#include "bench/make_replay/replay_server.h"
#include "bench/make_replay/report.h"
#include "bench/make_replay/subject.h"
#include "bench/stop_on_signals.h"

namespace nfswalk::bench {

enum class ExitCode {
  kEqual = 0,
  kDifferent = 1,
  kUsage = 2,
  kFailed = 3,
  kInterrupted = kExitInterrupted
};

class BenchRun {
 public:
  // Once `stop` is set the run ends early, cleans up and reports nothing.
  BenchRun(Options options, const std::atomic<bool>& stop)
      : options_(std::move(options)), stop_(stop) {}
  // Prints as it goes; errors to stderr.
  ExitCode Run();

 private:
  using Subjects = std::vector<std::unique_ptr<Subject>>;

  // Each returns an empty string or the error.
  std::string RunTrace(const std::string& file);
  std::string RunPrepared(const ReplayPlan& plan, const std::string& trace,
                          const std::string& directory);
  std::string MakeSubjects(const ReplayPlan& plan, const std::string& directory,
                           Subjects& subjects);
  std::string RunCold(Subjects& subjects, const ReplayPlan& plan, const std::string& trace);
  std::string RunWarm(Subjects& subjects, const ReplayPlan& plan, const std::string& trace);

  void Note(const PassResult& turn);

  const Options options_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<ReplayServer> server_;
  std::vector<Row> rows_;
  uint64_t mismatches_ = 0;
  uint64_t compared_ = 0;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_BENCH_RUN_H_
