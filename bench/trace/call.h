// call: one system call of a trace as the replay needs it, independent of how strace printed it.
#ifndef NFSWALK_BENCH_TRACE_CALL_H_
#define NFSWALK_BENCH_TRACE_CALL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "bench/trace/strace_argument.h"

namespace nfswalk::bench {

enum class CallKind : uint8_t {
  kStat,      // stat, lstat, newfstatat, statx; fstat by way of an empty path
  kAccess,    // access, faccessat, faccessat2
  kReadLink,  // readlink, readlinkat
  kOpen,      // open, openat for reading
  kReadDir,   // getdents64
  kExecute,   // execve: known to the tree model, not replayed
  kChange,    // a call that succeeded and changed what `path` names
};
inline constexpr size_t kCallKindCount = 7;

struct Call {
  CallKind kind = CallKind::kStat;
  bool no_follow = false;          // the last component is not followed if it is a link
  bool must_be_directory = false;  // O_DIRECTORY
  uint8_t access_mode = 0;         // R_OK | W_OK | X_OK
  int error = 0;                   // recorded errno, 0: success
  uint32_t pid = 0;
  uint32_t line = 0;  // in the trace file, from 1; of an unfinished call, where it ended
  // Absolute, joined from the directory and the argument as text: ".." stands for the walk to
  // resolve.
  std::string path = {};
  // kReadLink: the link's text. kOpen and kChange: where the kernel says the new descriptor points
  // to.
  std::string text = {};
  // kStat that succeeded.
  std::optional<RecordedAttributes> attributes = {};
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TRACE_CALL_H_
