// replay: asks a subject a trace's calls from several threads and compares every answer.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_REPLAY_H_
#define NFSWALK_BENCH_MAKE_REPLAY_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/make_replay/subject.h"
#include "bench/trace/call.h"

namespace nfswalk::bench {

// The calls of a trace, ready to be asked: one stream for each traced process.
class Workload {
 public:
  explicit Workload(const Trace& trace);

  // The streams that thread `index` of `count` asks, in order: each stream on one thread, the longest dealt
  // out first. A thread that would get none shares the longest.
  std::vector<const std::vector<ReplayCall>*> StreamsOf(size_t index, size_t count) const;
  // Listings are asked in the cold pass only: nothing caches them.
  const std::vector<ReplayCall>& listings() const { return listings_; }
  size_t calls() const { return calls_; }

 private:
  std::vector<std::vector<ReplayCall>> streams_;  // longest first
  std::vector<ReplayCall> listings_;
  size_t calls_ = 0;
};

struct Mismatch {
  ReplayCall call;
  Answer answer;  // link_text is not kept
};

struct PassResult {
  uint64_t ops = 0;
  uint64_t mismatches = 0;
  double seconds = 0;
  std::vector<uint32_t> latencies_ns;  // a sample: every 64th call
  std::vector<Mismatch> first_mismatches;
};

// One pass over everything, each call once.
std::expected<PassResult, std::string> RunOnce(Subject& subject, const Workload& workload,
                                               size_t threads);
// Round and round until `seconds` are over.
std::expected<PassResult, std::string> RunFor(Subject& subject, const Workload& workload,
                                              size_t threads, double seconds);
// The first `calls_max` calls of the longest stream, once, on the calling thread.
std::expected<PassResult, std::string> RunSample(Subject& subject, const Workload& workload,
                                                 size_t calls_max);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_REPLAY_H_
