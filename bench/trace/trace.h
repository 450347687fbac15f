// trace: what `strace -f -y -e trace=%file,...` recorded, as calls with absolute paths.
//
//   auto trace = LoadTrace("git-null.strace.xz");
//   if (!trace) std::cerr << trace.error();
#ifndef NFSWALK_BENCH_TRACE_TRACE_H_
#define NFSWALK_BENCH_TRACE_TRACE_H_

#include <cstdint>
#include <expected>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/trace/call.h"
#include "bench/trace/left_out.h"

namespace nfswalk::bench {

struct Trace {
  // In the order of their answers.
  std::vector<Call> calls;
  // Paths that the kernel itself printed (-y, getcwd): nothing on them is a symbolic link, except
  // in last place behind a descriptor opened with O_PATH | O_NOFOLLOW.
  std::set<std::string> resolved_paths;
  uint64_t lines = 0;
  uint64_t stat_calls = 0;             // stat, lstat, newfstatat, statx, replayable or not
  uint64_t noent_answers = 0;          // calls of any kind that ended in ENOENT
  uint64_t truncated_last_lines = 0;   // 1 if the last line stops in the middle; it is ignored
  uint64_t resumed_without_start = 0;  // strace attached while the call was under way
  LeftOutCounts left_out{};
};

// Parses the text of a trace. The error names the line and what was expected there. A text without
// a single line of strace is an error too.
std::expected<Trace, std::string> ParseTrace(std::string_view text);

// Reads and parses a file, plain or .xz. The error begins with the file's name.
std::expected<Trace, std::string> LoadTrace(const std::string& file);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TRACE_TRACE_H_
