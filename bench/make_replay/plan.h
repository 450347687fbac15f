// plan: a tree, and the calls that are asked of it with the answers to expect: a file that
// bench/trace/make_plan.py made of a trace. bench/trace/plan.py says how it is written.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_PLAN_H_
#define NFSWALK_BENCH_MAKE_REPLAY_PLAN_H_

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/file_tree.h"
#include "bench/measure/subject.h"

namespace nfswalk::bench {

// The calls of one or more whole processes, in order: what a thread takes at a time.
struct Lot {
  size_t begin = 0;
  size_t end = 0;
};

struct ReplayPlan {
  ReplayPlan() = default;
  ReplayPlan(ReplayPlan&&) = default;  // the views stay valid
  ReplayPlan& operator=(ReplayPlan&&) = default;

  std::string trace;     // "git-null"
  std::string coverage;  // what is compared and what is not, and why: a JSON object
  FileTree tree;
  std::vector<Call> calls;
  std::vector<Lot> lots;       // of `calls`, none empty
  std::vector<Call> listings;  // asked in the first pass only: no subject caches them

  std::vector<char> texts;  // what the views of the calls point into
};

// Without `special_files` the calls that end at a device, FIFO or socket are left out. The error
// begins with the name of the file and names the line.
std::expected<ReplayPlan, std::string> LoadPlan(const std::string& file, bool special_files);

// As in traces: "getdents64".
std::optional<CallKind> KindOf(std::string_view name);
std::string_view KindName(CallKind kind);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_PLAN_H_
