// cgroup: the memory limits and memory events of this process's cgroups (cgroups(7), version 2).
#ifndef NFSWALK_NFSCLIENT_MEMORY_CGROUP_H_
#define NFSWALK_NFSCLIENT_MEMORY_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nfswalk::nfs {

// The directories of this process's cgroup and of those above it, its own first, as far up as this
// process sees them. Empty without a mounted cgroup2 that shows them. `root` precedes the paths
// of all files that are read, and those returned: for tests.
std::vector<std::string> OwnCgroups(const std::string& root = "");

// The less of its memory.max and memory.high, in bytes; nothing if both say "max", or nothing that
// is understood.
std::optional<uint64_t> MemoryLimitOf(const std::string& cgroup);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_MEMORY_CGROUP_H_
