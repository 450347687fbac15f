// syscall_table: which argument of a system call is what, for every call that the trace parser
// knows.
#ifndef NFSWALK_BENCH_TRACE_SYSCALL_TABLE_H_
#define NFSWALK_BENCH_TRACE_SYSCALL_TABLE_H_

#include <cstdint>
#include <string_view>

namespace nfswalk::bench {

enum class SyscallKind : uint8_t {
  kStat,
  kAccess,
  kReadLink,
  kOpen,
  kReadDir,
  kExecute,
  kChange,             // changes what its path names
  kChangeDirectory,    // chdir
  kChangeDirectoryFd,  // fchdir
  kWorkingDirectory,   // getcwd
  kSpawn,              // clone, clone3, fork, vfork
};

// Argument positions, -1: the call has no such argument.
struct SyscallForm {
  std::string_view name;
  SyscallKind kind;
  int directory = -1;  // descriptor that a relative path starts from
  int path = -1;
  int flags = -1;
  int answer = -1;  // structure or text that the kernel filled in
  int mode = -1;    // access mode
  // The second path of rename, which is changed too.
  int directory2 = -1;
  int path2 = -1;
  bool no_follow = false;  // never follows a last link, whatever the flags
};

// Null if `name` is of no interest to the replay.
const SyscallForm* FindSyscall(std::string_view name);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TRACE_SYSCALL_TABLE_H_
