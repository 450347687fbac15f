// stats: what a mount has done so far, for tables, tests and the curious.
//
// Counters are kept per thread and summed when read: exact once the threads are quiet, otherwise a
// little behind.
#ifndef NFSWALK_NFSCLIENT_STATS_H_
#define NFSWALK_NFSCLIENT_STATS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nfswalk {

// Why a walk left RCU mode (design 2). kNone is no reason.
enum class NeedRef : uint8_t {
  kNone,
  kLookupRpc,
  kGetattrRpc,
  kAccessRpc,
  kReadlinkRpc,
  kAllocation,
  kChanged,  // a sequence check failed
  kMiss,     // not in the dentry cache
  kRefMode,  // mount option walk=ref: every hook, at once
};
inline constexpr size_t kNeedRefCount = 9;
// As in tables and JSON: "lookup_rpc".
std::string_view NeedRefName(NeedRef reason);

struct Stats {
  uint64_t walks = 0;          // calls that resolved a path
  uint64_t rcu_walks = 0;      // of them, finished without a reference
  uint64_t peek_hits = 0;      // access rights answered by the newest entry
  uint64_t search_hits = 0;    // by the lockless search of all entries
  uint64_t locked_hits = 0;    // by the search under the inode's lock
  uint64_t rpcs = 0;
  uint64_t dentries = 0;
  uint64_t inodes = 0;
  uint64_t access_entries = 0;
  uint64_t credentials = 0;
  std::array<uint64_t, kNeedRefCount> need_ref{};  // indexed by NeedRef
};

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_STATS_H_
