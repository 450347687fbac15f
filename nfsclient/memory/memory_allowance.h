// memory_allowance: how much memory this process may use.
#ifndef NFSWALK_NFSCLIENT_MEMORY_MEMORY_ALLOWANCE_H_
#define NFSWALK_NFSCLIENT_MEMORY_MEMORY_ALLOWANCE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace nfswalk::nfs {

// The source of a limit.
enum class LimitSource : uint8_t {
  kOptions,   // of the mount
  kPhysical,  // the memory of the machine
  kCgroup,    // memory.max or memory.high of the process's cgroup, or of one above it
  kRlimit,    // RLIMIT_AS or RLIMIT_DATA
};
// As in tables and JSON: "cgroup".
std::string_view LimitSourceName(LimitSource source);

struct MemoryAllowance {
  uint64_t bytes;
  LimitSource source;  // never kOptions
};

// The least of them, now. A file that is missing or not understood limits nothing. `root` precedes
// the paths of all files that are read: for tests.
MemoryAllowance AllowedMemory(const std::string& root = "");

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_MEMORY_MEMORY_ALLOWANCE_H_
