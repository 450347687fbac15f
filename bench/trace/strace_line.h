// strace_line: one line of `strace -f -y`, taken apart as far as it goes without knowing system
// calls.
//
//   21893 openat(AT_FDCWD</src>, "a", O_RDONLY) = 3</src/a>
//   pid   name   arguments                        result
//
// Also understood: no pid column (strace without -f), "[pid 123]", time stamps of -t, -tt, -ttt and
// -r, the time spent of -T. The views in a StraceLine point into the line.
#ifndef NFSWALK_BENCH_TRACE_STRACE_LINE_H_
#define NFSWALK_BENCH_TRACE_STRACE_LINE_H_

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace nfswalk::bench {

enum class LineKind : uint8_t {
  kCall,        // name(arguments) = result
  kUnfinished,  // name(arguments <unfinished ...>
  kResumed,     // <... name resumed>rest) = result
  kEvent,       // signal, exit or a remark of strace's own: nothing to replay
};

struct StraceLine {
  LineKind kind = LineKind::kEvent;
  // 0: the line has none. Of a thread's execve, which is resumed under the pid of its process: that
  // pid.
  uint32_t pid = 0;
  std::string_view name;
  // kCall: between the parentheses. kUnfinished: the beginning of the arguments. kResumed: the rest
  // of the arguments, the closing parenthesis and the result, to be appended to that beginning.
  std::string_view arguments;
  std::string_view result;  // kCall: what follows "= "
};

struct ArgumentsAndResult {
  std::string_view arguments;
  std::string_view result;
};

// The error says what was expected instead, without the line number.
std::expected<StraceLine, std::string> ParseStraceLine(std::string_view line);

// Splits what follows the opening parenthesis of a call, "arguments) = result".
std::expected<ArgumentsAndResult, std::string> SplitResult(std::string_view rest);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TRACE_STRACE_LINE_H_
