// subject: something that can answer the calls of a trace: nfswalk in one of its walk modes, the
// kernel on a tmpfs, libnfs. All are driven by the same loop, compared by the same code and timed
// by the same clock.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_SUBJECT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bench/make_replay/replay_plan.h"
#include "nfsclient/nfs/stats.h"

namespace nfswalk::bench {

// An answer as far as it is compared. `error` is an errno; the rest is valid if it is 0.
struct Answer {
  int error = 0;
  uint32_t mode = 0;        // kStat: type and permission bits
  uint64_t size_bytes = 0;  // kStat: of the file; kReadLink: of the text
};

// The hands of one thread. Made and used on that thread.
class SubjectThread {
 public:
  virtual ~SubjectThread() = default;
  // `link_text` receives the text of kReadLink.
  virtual Answer Ask(const ReplayCall& call, std::span<char> link_text) = 0;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string_view subject() const = 0;  // "nfswalk"
  virtual std::string_view mode() const = 0;     // "rcu-search", "-" if it has no modes
  // The error is a sentence. Called on the thread that will use the result.
  virtual std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() = 0;
  // Counters so far; nothing but zeros for a subject that keeps none.
  virtual Stats stats() const { return {}; }
  // Subjects that cannot repeat a call cheaply are asked each call once, by one thread.
  virtual bool one_pass_only() const { return false; }
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_SUBJECT_H_
