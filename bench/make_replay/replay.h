// replay: asks a subject the calls of a plan from several threads and compares every answer.
//
// Threads take lots (whole processes) from one list, so that every subject and every number of
// threads does the same mix of work. The timed loop holds the call, the comparison and, every 64th
// time, the clock.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_REPLAY_H_
#define NFSWALK_BENCH_MAKE_REPLAY_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "bench/make_replay/plan.h"
#include "bench/measure/subject.h"
#include "bench/measure/turns.h"

namespace nfswalk::bench {

struct PassResult {
  Turn turn;  // `ops`: the timed calls
  uint64_t compared = 0;
  uint64_t mismatches = 0;
  std::vector<uint32_t> latencies_ns = {};         // a sample, without the cost of the clock
  std::vector<std::string> first_mismatches = {};  // sentences

  // Counts an answer that differs, and keeps the sentence if it is one of the first.
  void Miss(std::string sentence);
  // Adds what another thread counted in the same time.
  void Add(PassResult& other);
};

// "line 7: stat /a: recorded mode 100644, size 3, got success"
std::string DifferenceOf(const Call& call, const Answer& answer, const char* link_text);

// Every `one_in`th call once, each after before_call() with its number, from 1 on, and every
// listing. An interrupt ends it early, here as below.
std::expected<PassResult, std::string> ReplayOnce(
    Subject& subject, const ReplayPlan& plan, size_t threads, size_t one_in,
    const std::function<void(uint64_t number)>& before_call = {});
// The calls without the listings, round and round for `seconds` and at least once, after a quarter
// as long in which the new threads fill their own caches.
std::expected<PassResult, std::string> ReplayFor(Subject& subject, const ReplayPlan& plan,
                                                 size_t threads, double seconds);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_REPLAY_H_
