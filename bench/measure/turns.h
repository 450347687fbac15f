// turns: what a row is made of: interleaved turns, of which those that other work disturbed are
// taken again and never counted.
//
//   Turns turns(repetitions);
//   for each row: turns.AddRow();
//   turns.Run(...);
//   for each row: AddTiming(json_row, turns, row, processors);
//
// Every row takes one turn a round, so that what else the machine does falls on all alike. After
// `repetitions` rounds only rows that still lack undisturbed turns take more, up to as many again.
#ifndef NFSWALK_BENCH_MEASURE_TURNS_H_
#define NFSWALK_BENCH_MEASURE_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/measure/outcome.h"
#include "bench/measure/row.h"

namespace nfswalk::bench {

// A turn in which the processes got less of the processor time they could use is disturbed.
inline constexpr double kShareMin = 0.95;

struct Turn {
  uint64_t ops = 0;
  double seconds = 0;
  double share = 1;         // TeamTime, or MachineShare where threads wait
  double own_cpu_s = 0;     // processor time of this process, from MachineShare
  double server_cpu_s = 0;  // the same of the server; 0: not on this machine
  uint64_t hits = 0;        // of `ops`, in a cache whose rate of hits is measured
  double longest_s = 0;     // of one operation, where each is timed, as the next
  double p999_s = 0;        // 99.9 % took no longer
  double round_trip_s = 0;  // of a lone call just before
};

struct Spread {
  double median = 0;  // of an even number the mean of the two in the middle
  double least = 0;
  double most = 0;
};
// Preconditions: `values` is not empty.
Spread SpreadOf(std::vector<double> values);

class Turns {
 public:
  explicit Turns(size_t repetitions) : repetitions_(repetitions) {}

  // Rows are numbered from 0. Preconditions: no round has begun.
  void AddRow() { rows_.emplace_back(); }

  // Returns false once every row has `repetitions` undisturbed turns or has taken twice as many,
  // or after an interrupt.
  bool BeginRound();
  // From 0. Preconditions: BeginRound() returned true.
  size_t round() const { return rounds_ - 1; }
  // Whether `row` is to take a turn in this round.
  bool Wants(size_t row) const;
  void Add(size_t row, const Turn& turn);
  // All rounds: adds what `take` returns for each row that wants a turn, unless an interrupt cut it
  // short. An error of `take` ends it.
  Outcome Run(const std::function<std::expected<Turn, std::string>(size_t row)>& take);

  // The undisturbed turns.
  const std::vector<Turn>& counted(size_t row) const { return rows_[row].counted; }
  // How many were disturbed.
  size_t disturbed(size_t row) const { return rows_[row].disturbed; }
  // Empty if at least half of the repetitions could be had undisturbed, else the reason.
  std::string WhyDisturbed(size_t row) const;
  // False for a row that has not taken a turn, or that an interrupt cut short.
  bool Complete(size_t row) const;
  // Returns the spread of a figure of the counted turns. Preconditions: WhyDisturbed(row) is empty.
  Spread Of(size_t row, const std::function<double(const Turn&)>& figure) const;

 private:
  struct TakenTurns {
    std::vector<Turn> counted;
    size_t disturbed = 0;
    double best_disturbed_share = 0;
  };

  const size_t repetitions_;
  size_t rounds_ = 0;
  std::vector<TakenTurns> rows_;
};

// Adds "ns_per_op", "ns_min", "ns_max", "turns", "repeated" and "share" to `row`, or "disturbed"
// with the reason. A turn costs seconds x `processors` / ops: UsableProcessors() for busy threads,
// 1 for the time that a caller waits.
void AddTiming(Row& row, const Turns& turns, size_t number, double processors);

// Adds "cpu_ns" and "server_cpu_ns" to `row`, medians of the processor time of an operation, unless
// AddTiming() adds "disturbed".
void AddProcessorTime(Row& row, const Turns& turns, size_t number);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_TURNS_H_
