#include "bench/trace/syscall_table.h"

#include <algorithm>
#include <array>

namespace nfswalk::bench {
namespace {

using enum SyscallKind;

constexpr auto kForms = std::to_array<SyscallForm>({
    {.name = "stat", .kind = kStat, .path = 0, .answer = 1},
    {.name = "stat64", .kind = kStat, .path = 0, .answer = 1},
    {.name = "lstat", .kind = kStat, .path = 0, .answer = 1, .no_follow = true},
    {.name = "lstat64", .kind = kStat, .path = 0, .answer = 1, .no_follow = true},
    {.name = "newfstatat", .kind = kStat, .directory = 0, .path = 1, .flags = 3, .answer = 2},
    {.name = "fstatat64", .kind = kStat, .directory = 0, .path = 1, .flags = 3, .answer = 2},
    {.name = "statx", .kind = kStat, .directory = 0, .path = 1, .flags = 2, .answer = 4},
    {.name = "access", .kind = kAccess, .path = 0, .mode = 1},
    {.name = "faccessat", .kind = kAccess, .directory = 0, .path = 1, .flags = 3, .mode = 2},
    {.name = "faccessat2", .kind = kAccess, .directory = 0, .path = 1, .flags = 3, .mode = 2},
    {.name = "readlink", .kind = kReadLink, .path = 0, .answer = 1, .no_follow = true},
    {.name = "readlinkat",
     .kind = kReadLink,
     .directory = 0,
     .path = 1,
     .answer = 2,
     .no_follow = true},
    {.name = "open", .kind = kOpen, .path = 0, .flags = 1},
    {.name = "openat", .kind = kOpen, .directory = 0, .path = 1, .flags = 2},
    {.name = "getdents64", .kind = kReadDir, .directory = 0},
    {.name = "getdents", .kind = kReadDir, .directory = 0},
    {.name = "execve", .kind = kExecute, .path = 0},
    {.name = "execveat", .kind = kExecute, .directory = 0, .path = 1, .flags = 4},
    {.name = "chdir", .kind = kChangeDirectory, .path = 0},
    {.name = "fchdir", .kind = kChangeDirectoryFd, .directory = 0},
    {.name = "getcwd", .kind = kWorkingDirectory, .path = 0},
    {.name = "clone", .kind = kSpawn},
    {.name = "clone3", .kind = kSpawn},
    {.name = "fork", .kind = kSpawn},
    {.name = "vfork", .kind = kSpawn},
    {.name = "creat", .kind = kChange, .path = 0},
    {.name = "mkdir", .kind = kChange, .path = 0, .no_follow = true},
    {.name = "mkdirat", .kind = kChange, .directory = 0, .path = 1, .no_follow = true},
    {.name = "mknod", .kind = kChange, .path = 0, .no_follow = true},
    {.name = "mknodat", .kind = kChange, .directory = 0, .path = 1, .no_follow = true},
    {.name = "rmdir", .kind = kChange, .path = 0, .no_follow = true},
    {.name = "unlink", .kind = kChange, .path = 0, .no_follow = true},
    {.name = "unlinkat", .kind = kChange, .directory = 0, .path = 1, .no_follow = true},
    {.name = "symlink", .kind = kChange, .path = 1, .no_follow = true},
    {.name = "symlinkat", .kind = kChange, .directory = 1, .path = 2, .no_follow = true},
    // The existing name keeps all that is compared; only the new one changes.
    {.name = "link", .kind = kChange, .path = 1, .no_follow = true},
    {.name = "linkat", .kind = kChange, .directory = 2, .path = 3, .no_follow = true},
    {.name = "rename", .kind = kChange, .path = 0, .path2 = 1, .no_follow = true},
    {.name = "renameat",
     .kind = kChange,
     .directory = 0,
     .path = 1,
     .directory2 = 2,
     .path2 = 3,
     .no_follow = true},
    {.name = "renameat2",
     .kind = kChange,
     .directory = 0,
     .path = 1,
     .directory2 = 2,
     .path2 = 3,
     .no_follow = true},
    {.name = "chmod", .kind = kChange, .path = 0},
    {.name = "fchmodat", .kind = kChange, .directory = 0, .path = 1},
    {.name = "chown", .kind = kChange, .path = 0},
    {.name = "lchown", .kind = kChange, .path = 0, .no_follow = true},
    {.name = "fchownat", .kind = kChange, .directory = 0, .path = 1, .flags = 4},
    {.name = "truncate", .kind = kChange, .path = 0},
});

}  // namespace

const SyscallForm* FindSyscall(std::string_view name) {
  const auto found = std::ranges::find(kForms, name, &SyscallForm::name);
  return found == kForms.end() ? nullptr : &*found;
}

}  // namespace nfswalk::bench
