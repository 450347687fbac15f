// warm_turn: some threads ask one subject the calls of one course for a while.
#ifndef NFSWALK_BENCH_WARM_STAT_WARM_TURN_H_
#define NFSWALK_BENCH_WARM_STAT_WARM_TURN_H_

#include <atomic>
#include <cstddef>
#include <expected>
#include <span>
#include <string>

#include "bench/make_replay/subject.h"
#include "bench/warm_stat/warm_report.h"

namespace nfswalk::bench {

// Asks each call once on one thread, `rounds` times over: brings them into the caches and compares
// the answers. Empty, or the error.
std::string AskEachOnce(Subject& subject, std::span<const ReplayCall> calls, size_t rounds,
                        const std::atomic<bool>& stop);

// `threads` pinned threads, each from another place of `calls` on, round and round, the first from
// `start`; for a quarter of `seconds` more before the clock starts. Answers are compared. The error
// is a sentence.
std::expected<WarmTurn, std::string> TakeTurn(Subject& subject, std::span<const ReplayCall> calls,
                                              size_t start, size_t threads, double seconds);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_WARM_TURN_H_
