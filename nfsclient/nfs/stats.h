// stats: counters of a mount, for reports and tests.
//
// Counted per thread and summed when read: exact when no call is in progress.
#ifndef NFSWALK_NFSCLIENT_NFS_STATS_H_
#define NFSWALK_NFSCLIENT_NFS_STATS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nfswalk::nfs {

// Why a walk left RCU mode (docs/walk.md). kNone is no reason.
enum class NeedRef : uint8_t {
  kNone,
  kLookupRpc,
  kGetattrRpc,
  kAccessRpc,
  kReadlinkRpc,
  kAllocation,
  kChanged,   // a sequence check failed
  kMiss,      // not in the dentry cache
  kRefMode,   // mount option walk=ref: every hook, at once
  kComplete,  // complete_walk(): nothing is missing; the call itself works on a reference
};
inline constexpr size_t kNeedRefCount = 10;
// As in tables and JSON: "lookup_rpc".
std::string_view NeedRefName(NeedRef reason);

// Which search of the access cache answered, counted by a walk and added to the mount's at its end.
struct AccessHits {
  uint32_t peek = 0;    // the newest entry
  uint32_t search = 0;  // the lockless search of all entries
  uint32_t locked = 0;  // the search under the inode's lock
};

struct Stats {
  uint64_t rcu_walks = 0;  // walks that ended without a reference
  uint64_t ref_walks = 0;  // walks that needed references, from wherever RCU left off
  uint64_t peek_hits = 0;  // see AccessHits
  uint64_t search_hits = 0;
  uint64_t locked_hits = 0;
  uint64_t path_hits = 0;  // of rcu_walks: began at a prefix from the thread's path cache
  uint64_t rpcs = 0;
  uint64_t dentries = 0;
  uint64_t inodes = 0;
  uint64_t inode_global_locks = 0;  // taken on locks that every inode of the mount goes through
  uint64_t access_entries = 0;
  uint64_t credentials = 0;
  std::array<uint64_t, kNeedRefCount> need_ref{};  // indexed by NeedRef
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_STATS_H_
