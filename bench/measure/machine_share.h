// machine_share: how much of the machine was left to us and our server, for turns in which threads
// wait for the server and so do not use up a processor each.
#ifndef NFSWALK_BENCH_MEASURE_MACHINE_SHARE_H_
#define NFSWALK_BENCH_MEASURE_MACHINE_SHARE_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "bench/measure/turns.h"

namespace nfswalk::bench {

class MachineShare {
 public:
  // Starts to measure. `server`: the process whose time counts as ours; 0: none on this machine.
  explicit MachineShare(pid_t server);

  // 1 - (processor time of other processes + stolen time) / (processors x time) since the
  // construction. Resolution: 10 ms over all processors, in our favour.
  double Share() const;
  // Adds to `turn`: Share(), and the processor time of this process and of the server.
  // `children_cpu_s`: of processes that did the work for this one and have ended.
  void AddTo(Turn& turn, double children_cpu_s = 0) const;

 private:
  struct Sample {
    std::chrono::steady_clock::time_point at;
    double own_s = 0;  // of this process
    double server_s = 0;
    double unused_s = 0;  // idle, and interrupts, which are ours or of no process
  };
  Sample Take() const;

  const pid_t server_;
  const Sample start_;
};

// Seconds in which no process ran, of the first line of /proc/stat (proc(5)): idle, iowait, irq,
// softirq. The error is a sentence.
std::expected<double, std::string_view> UnusedSecondsIn(std::string_view proc_stat,
                                                        double ticks_per_s);

// Returns the part of the time of `processors` during `seconds` that was ours or unused. Ignores
// one tick of other use.
double ShareOfMachine(double seconds, size_t processors, double ours_s, double unused_s,
                      double tick_s);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_MACHINE_SHARE_H_
