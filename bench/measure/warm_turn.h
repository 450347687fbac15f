// warm_turn: some threads ask one subject the same calls for a while.
#ifndef NFSWALK_BENCH_MEASURE_WARM_TURN_H_
#define NFSWALK_BENCH_MEASURE_WARM_TURN_H_

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "bench/measure/outcome.h"
#include "bench/measure/subject.h"
#include "bench/measure/turns.h"

namespace nfswalk::bench {

// Calls whose paths lie one behind the other in the order in which they are asked, so that reading
// them costs every subject the same and little.
class WarmCalls {
 public:
  // Each call is expected to end in `error`, an errno, or in a regular file of mode 0644. kOpen
  // opens for reading.
  explicit WarmCalls(const std::vector<std::string>& paths, int16_t error = 0,
                     CallKind kind = CallKind::kStat);
  WarmCalls(const WarmCalls&) = delete;
  WarmCalls& operator=(const WarmCalls&) = delete;
  std::span<const Call> calls() const { return calls_; }

 private:
  std::string texts_;
  std::vector<Call> calls_;
};

// Asks each call on one thread, once as each of `identities`: brings them into the caches and
// compares the answers. Ends early after an interrupt.
Outcome AskEachOnce(Subject& subject, std::span<const Call> calls, size_t identities);

// `threads` pinned threads, each from another place of `calls` on, the first from `start`, round
// and round; for a quarter of `seconds` more before the clock starts. Answers are compared.
std::expected<Turn, std::string> TakeWarmTurn(Subject& subject, std::span<const Call> calls,
                                              size_t start, size_t threads, double seconds);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_WARM_TURN_H_
