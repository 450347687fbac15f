// build_plan: the calls of a recorded build by process, and which of other processes each waits
// for: a file that bench/trace/make_plan.py made. bench/trace/build_plan.py says how it is written.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_BUILD_PLAN_H_
#define NFSWALK_BENCH_MAKE_REPLAY_BUILD_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "bench/measure/file_tree.h"
#include "bench/measure/subject.h"

namespace nfswalk::bench {

// Until `calls` calls of `process` are done.
struct Wait {
  uint32_t process;
  uint32_t calls;
};

struct PlannedCall : BuildCall {
  uint32_t first_wait = 0;  // of BuildPlan::waits
  uint32_t wait_count = 0;
};

struct BuildPlan {
  BuildPlan() = default;
  BuildPlan(BuildPlan&&) = default;  // the views stay valid
  BuildPlan& operator=(BuildPlan&&) = default;

  std::span<const Wait> WaitsOf(const PlannedCall& call) const {
    return std::span(waits).subspan(call.first_wait, call.wait_count);
  }

  std::string trace;     // "git-build"
  std::string coverage;  // what is compared and what is not, and why: a JSON object
  FileTree tree;         // when the build began
  std::vector<std::vector<PlannedCall>> processes;
  std::vector<Wait> waits;  // each of calls that there are

  std::vector<char> texts;  // what the views of the calls point into
};

// Whether `file` is the plan of a build; false if it cannot be read.
bool IsBuildPlan(const std::string& file);
// The error begins with the name of the file and names the line.
std::expected<BuildPlan, std::string> LoadBuildPlan(const std::string& file);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_BUILD_PLAN_H_
