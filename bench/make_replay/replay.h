// replay: asks a subject the calls of a plan from several threads and compares every answer.
//
// Threads take lots (whole processes) from one list, so that every subject and every number of
// threads does the same mix of work. The timed loop holds the call, the comparison and, every 64th
// time, the clock.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_REPLAY_H_
#define NFSWALK_BENCH_MAKE_REPLAY_REPLAY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/make_replay/replay_plan.h"
#include "bench/make_replay/subject.h"

namespace nfswalk::bench {

struct Mismatch {
  const ReplayCall* call = nullptr;  // points into the plan
  Answer answer;
  std::string link_text = {};  // kReadLink that succeeded
};

struct PassResult {
  uint64_t ops = 0;  // each of them compared
  uint64_t mismatches = 0;
  double seconds = 0;                       // from the common start to the end of the last thread
  double cpu_seconds = 0;                   // of all threads together
  std::vector<uint32_t> latencies_ns = {};  // a sample, without the cost of the clock
  std::vector<Mismatch> first_mismatches = {};
};

// True if `answer` is what the trace recorded: errno; type and permission bits; size; link text.
bool Matches(const ReplayCall& call, const Answer& answer, const char* link_text);

// Every `one_in`th call once, and every listing. `*stop` ends it early, here as below.
std::expected<PassResult, std::string> RunOnce(Subject& subject, const ReplayPlan& plan,
                                               size_t threads, size_t one_in,
                                               const std::atomic<bool>& stop);
// The calls without the listings, round and round until `seconds` are over.
std::expected<PassResult, std::string> RunFor(Subject& subject, const ReplayPlan& plan,
                                              size_t threads, double seconds,
                                              const std::atomic<bool>& stop);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_REPLAY_H_
