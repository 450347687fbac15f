// report: what a replay found out, for people (a table) and for programs (JSON).
#ifndef NFSWALK_BENCH_MAKE_REPLAY_REPORT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/make_replay/replay.h"
#include "nfsclient/nfs/stats.h"

namespace nfswalk::bench {

enum class Phase { kCold, kWarm };

// One subject with one number of threads, all its turns together.
struct Row {
  std::string trace;
  std::string subject;
  std::string mode;
  Phase phase = Phase::kWarm;
  size_t threads = 0;
  std::vector<double> ops_per_s = {};  // of each turn
  uint64_t ops = 0;
  uint64_t mismatches = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  std::vector<uint32_t> latencies_ns = {};
  Stats stats = {};  // what the turns added to the counters
};

struct Machine {
  std::string cpu;
  unsigned cores = 0;
  std::string kernel;
  std::string build;    // "optimised", "debug"
  std::string backend;  // what answered
};
Machine DescribeMachine(std::string backend);

// Adds one turn to a row.
void AddTurn(Row& row, PassResult&& turn, const Stats& before, const Stats& after);

double MedianOpsPerSecond(const Row& row);
// Time of one operation on one core, ns: seconds * min(threads, cores) / operations.
double NsPerOp(const Row& row, unsigned cores);
// The part of the processor time that the row could have had which it got, 0..1. Less than all of
// it in a warm row means that other work ran on the machine.
double CpuShare(const Row& row, unsigned cores);
// `share` in 0..1; 0 without samples. Reorders.
uint32_t Percentile(std::vector<uint32_t>& samples, double share);

std::string TableText(std::vector<Row>& rows, const Machine& machine);
// The ratios that the figures to reach speak of, as far as the rows for them exist.
std::string RatiosText(const std::vector<Row>& rows);
std::string MismatchText(const Mismatch& mismatch);
// What was compared and what was not, and why.
std::string CoverageText(const Trace& trace, const ReplayPlan& plan);
// Empty, or the error.
std::string WriteJson(const std::string& file, std::vector<Row>& rows, const Machine& machine);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_REPORT_H_
