// team: threads that do the same work at the same time, how long the last of them took, and how
// much of the processors they got.
#ifndef NFSWALK_BENCH_MEASURE_TEAM_H_
#define NFSWALK_BENCH_MEASURE_TEAM_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "bench/measure/outcome.h"

namespace nfswalk::bench {

// Processors of this machine, at least 1.
size_t Processors();

// min(threads, Processors()): what `threads` busy threads can use.
size_t UsableProcessors(size_t threads);

struct TeamTime {
  double seconds = 0;  // from the first start until the last end
  // Processor time of the threads over seconds x UsableProcessors(threads). Says something of
  // threads that never wait only; of others see ShareOfMachine.
  double share = 0;
};

enum class Placement : uint8_t {
  kPinned,    // thread t runs on processor t, round robin
  kAnywhere,  // where the scheduler puts it: a server needs the processors too
};

// Called with the number of the thread, on that thread.
using ThreadWork = std::function<Outcome(size_t thread)>;

// Runs prepare(t), which is not part of the time, and then work(t) on `threads` threads, which
// start working together once all are prepared. Returns the error of one of them; if a preparation
// fails, none works.
std::expected<TeamTime, std::string> RunTeam(
    size_t threads, Placement placement, const ThreadWork& work,
    const ThreadWork& prepare = [](size_t) { return Outcome(); });

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_TEAM_H_
