// stats: counters of a mount, for reports and tests.
//
// Counted per thread and summed when read: exact when no call is in progress.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_STATS_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_STATS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nfsclient/memory/memory_allowance.h"

namespace nfswalk::nfs {

// Why a walk left RCU-walk (docs/walk.md). kNone is no reason.
enum class NeedRef : uint8_t {
  kNone,
  kLookupRpc,
  kGetattrRpc,
  kAccessRpc,
  kReadlinkRpc,
  kAllocation,
  kChanged,   // a sequence check failed
  kMiss,      // not in the dentry cache
  kRefMode,   // RCU-walk was not tried: walk=ref, or the mount has ended
  kComplete,  // complete_walk(): nothing is missing; the call itself works on a reference
};
inline constexpr size_t kNeedRefCount = 10;
// As in tables and JSON: "lookup_rpc".
std::string_view NeedRefName(NeedRef reason);

// The calls whose walks are told apart.
enum class PathCall : uint8_t {
  kStat,  // also statfs
  kAccess,
  kReadLink,
  kResolve,
  kOpen,
  kReadDir,
  kSetAttributes,
  kCreate,  // of a file, a directory or a symbolic link
  kLink,
  kRename,
  kRemove,  // unlink and rmdir
};
inline constexpr size_t kPathCallCount = 11;
// As in tables and JSON: "readlink".
std::string_view PathCallName(PathCall call);

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
  uint64_t delegated_opens = 0;  // without the server, of files that it has delegated
  uint64_t rpcs = 0;
  uint64_t dentries = 0;
  uint64_t inodes = 0;
  uint64_t inode_global_locks = 0;  // taken on locks that every inode of the mount goes through
  uint64_t access_entries = 0;
  uint64_t credentials = 0;
  // The limits now, and where those come from that the mount's options leave open.
  uint64_t dentries_max = 0;
  uint64_t inodes_max = 0;
  uint64_t access_entries_max = 0;
  LimitSource limits_from = LimitSource::kOptions;
  uint64_t shrinks = 0;         // how often memory was short
  uint64_t shrunk_objects = 0;  // dentries, inodes and access entries given up then
  // By PathCall and by NeedRef; a call that walks twice, as rename does, counts twice.
  std::array<std::array<uint64_t, kNeedRefCount>, kPathCallCount> need_ref_of_call{};
  std::array<uint64_t, kNeedRefCount> need_ref{};  // of all calls, by NeedRef
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_STATS_H_
