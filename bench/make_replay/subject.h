// subject: something that can answer the calls of a trace: nfswalk in one walk mode, the kernel, libnfs.
//
// All subjects are asked the same way and judged by the same comparison, so that a row of the table differs
// from the next only by who answers.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_SUBJECT_H_

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "bench/trace/call.h"

namespace nfswalk::bench {

// A recorded call with its strings at hand.
struct ReplayCall {
  const Call* recorded;
  const std::string* path;
  const std::string* link_text;  // of a successful readlink
};

// What a subject said.
struct Answer {
  int error = 0;
  uint32_t mode = 0;
  uint64_t size = 0;
  std::string_view link_text;  // valid until the worker's next call
};

// True if `answer` is what the trace recorded: errno; type and permission bits; size of what is not a
// directory; the text of a link.
inline bool Matches(const ReplayCall& call, const Answer& answer) {
  const Call& recorded = *call.recorded;
  if (answer.error != recorded.error) return false;
  if (answer.error != 0) return true;
  switch (recorded.kind) {
    case CallKind::kStat:
      return answer.mode == recorded.mode && (!recorded.has_size || answer.size == recorded.size);
    case CallKind::kReadLink: return answer.link_text == *call.link_text;
    case CallKind::kAccess:
    case CallKind::kOpen:
    case CallKind::kReadDir: return true;
  }
  return false;
}

// One thread's access to a subject. Not thread safe; made and used on the thread itself.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual Answer Ask(const ReplayCall& call) = 0;
};

struct SubjectCounters {
  uint64_t rpcs = 0;
  uint64_t peek_hits = 0;
  std::map<std::string, uint64_t> need_ref;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string name() const = 0;  // "nfswalk", "kernel, tmpfs", "libnfs"
  virtual std::string mode() const = 0;  // "rcu-search", or "" where there is only one
  // The error says why this thread cannot ask.
  virtual std::expected<std::unique_ptr<Worker>, std::string> MakeWorker() = 0;
  virtual SubjectCounters counters() const { return {}; }
  // Makes the next pass a cold one, where the subject has a cache of its own.
  virtual void Forget() {}
  // Too slow for anything but one pass over a sample.
  virtual bool one_pass_only() const { return false; }
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_SUBJECT_H_
