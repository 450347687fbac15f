// complete_call: lines of a trace put back together, so that each call stands in one piece.
//
// strace -f prints a call that another process interrupts in two halves. Here it appears once,
// where its answer stands; only calls that make a process appear where they begin, because the
// child's own lines may come before the parent's answer.
#ifndef NFSWALK_BENCH_TRACE_COMPLETE_CALL_H_
#define NFSWALK_BENCH_TRACE_COMPLETE_CALL_H_

#include <cstdint>
#include <deque>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "bench/trace/syscall_table.h"

namespace nfswalk::bench {

struct CompleteCall {
  const SyscallForm* form = nullptr;
  uint32_t pid = 0;
  uint32_t line = 0;
  std::string_view arguments = {};
  std::string_view result = {};
};

// The views point into the text that was joined, and into `pieces`.
struct JoinedLines {
  std::vector<CompleteCall> calls;  // known system calls only
  std::deque<std::string> pieces;
  uint64_t lines = 0;
  uint64_t recognised = 0;
  uint64_t noent_answers = 0;
  uint64_t truncated_last_lines = 0;
  uint64_t resumed_without_start = 0;
  uint64_t never_resumed = 0;  // of the known calls, those that make a process excepted
};

// The error names the line number and what was expected there. `text` must outlive the result.
std::expected<JoinedLines, std::string> JoinLines(std::string_view text);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TRACE_COMPLETE_CALL_H_
