// mount_options: every choice that is made once per mount, with the names and defaults of nfs(5).
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_MOUNT_OPTIONS_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_MOUNT_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "nfsclient/icache/inode_policy.h"
#include "nfsclient/protocol/transport_options.h"

namespace nfswalk::nfs {

// How much of a path walk runs without references (docs/walk.md). Each step can be measured against
// the one before it.
enum class WalkMode {
  kRef,        // no RCU walk at all
  kRcuLocked,  // RCU walk, access rights searched under the inode's lock
  kRcuPeek,    // first the newest entry without a lock, then as above
  kRcuSearch,  // all entries of the inode without a lock
};

// nfs(5) lookupcache=.
enum class LookupCache { kAll, kPositive, kNone };

// Which contract a walk gives (WALK-15, WALK-16). `strict`: the whole walk is
// linearizable.
enum class WalkContract { kHandOverHand, kStrict };

struct MountOptions {
  protocol::ServerAddress server;
  protocol::TransportOptions transport;

  // Attribute cache lifetimes, seconds (nfs(5) acregmin ...). actimeo sets all four, noac sets them
  // to 0.
  uint32_t acregmin_s = 3;
  uint32_t acregmax_s = 60;
  uint32_t acdirmin_s = 30;
  uint32_t acdirmax_s = 60;
  LookupCache lookupcache = LookupCache::kAll;
  bool nocto = false;
  // Each write is on stable storage when it returns. noac sets it, too.
  bool sync = false;
  // `nolock` was given: the locks of a mount (`nfswalk mount`) are the kernel's own. Those of File
  // are what the version has.
  bool nolock = false;
  // Bytes of a READ and a WRITE at most; 0: the server's limits. Rounded as nfs(5) has it: down to
  // a multiple of 1024, and 4096 for less than that.
  uint32_t rsize = 0;
  uint32_t wsize = 0;
  // Not in URLs. How often a thread looks for what has been dirty for how long, which it writes:
  // vm.dirty_writeback_centisecs (0: never) and vm.dirty_expire_centisecs, in milliseconds.
  uint32_t dirty_writeback_ms = 5'000;
  uint32_t dirty_expire_ms = 30'000;
  // Listings fetch attributes, which fill the caches; directories with many lookup misses are
  // listed ahead (list_ahead.h).
  bool rdirplus = true;
  // `delegs` was given: from version 4.1 on the server is asked to delegate files that are read.
  bool delegations = false;
  // With these, unless `nodirdelegs` was given, directories that are used again.
  bool directory_delegations = true;
  // Not in URLs. Between two questions for that of one directory.
  uint32_t delegation_pause_s = 60;
  // `xattr` was given: a mount (`nfswalk mount`) has extended attributes, where the server has.
  bool xattr = false;
  // Version 4: one COMPOUND for all missing names of a path (path_lookup.h).
  bool compound = true;

  // fs.protected_symlinks: EACCES where the last component of a path is a symbolic link of another
  // user in a directory that is sticky, writable for all, and not his (may_follow_link.h).
  bool protected_symlinks = true;
  // Version 3: POSIX ACLs are asked for where a caller wants them (NFSACL).
  bool acl = true;
  // fs.protected_regular: EACCES where a call that creates finds a file of another user there
  // (may_create_in_sticky.h).
  bool protected_regular = true;

  WalkMode walk = WalkMode::kRcuSearch;
  WalkContract contract = WalkContract::kHandOverHand;
  // kRcuSearch: each thread caches the prefixes of its paths (walk/path_cache.h).
  bool path_cache = true;

  // Limits of the caches, in objects; the rest is freed. Those not given come from the memory that
  // the process may use (cache_limits.h). Access rights count from an inode's second credential on:
  // the first is stored in the inode.
  std::optional<size_t> dentries_max;
  std::optional<size_t> inodes_max;
  std::optional<size_t> access_entries_max;
  size_t credentials_max = 4096;
  // Bytes that were written and are not committed, of the mount (vm.dirty_bytes), and likewise
  // bytes that were read ahead. Not given: from the memory, too.
  std::optional<size_t> dirty_bytes_max;

  // How the inode cache is locked (inode_policy.h).
  icache::InodePolicy inode_policy;
};

// Reads `nfs://host[:port]/export?option[=value]&...`, options named as in nfs(5) and in libnfs'
// URLs: version (vers, nfsvers), port (nfsport, as host:port), mountport, nconnect, hard, soft,
// timeo (tenths of a second), retrans, acregmin, acregmax, acdirmin, acdirmax, actimeo, noac, ac,
// softerr (soft), lookupcache, cto, nocto, sync, async, rsize, wsize, lock, nolock,
// local_lock=all|none (nolock, lock), rdirplus, nordirplus, xattr, noxattr, and ours: delegs,
// nodelegs, dirdelegs, nodirdelegs, walk=ref|rcu-locked|rcu-peek|rcu-search, strict, pathcache,
// nopathcache, compound, nocompound, acl, noacl, protected_symlinks, noprotected_symlinks,
// protected_regular, noprotected_regular, dentries, inodes, access_entries, credentials,
// dirty_bytes, inode_hash, inode_list, inode_lru. Options of nfs(5) that only restate what this
// client does are accepted, the others refused with what to do (docs/mount_options.md). The last of
// contradicting options wins, as with mount(8); noac overrides every lifetime option wherever it
// stands, unless `ac` follows it. Without a version, or a minor one, the latest is meant that the
// server offers; with an option of the MOUNT protocol version 3. With version 3 `lock` is refused,
// as there is no NLM; without a version it means 4, with which neither of the two has an effect, as
// with mount(8). Percent escapes are decoded in the export's path, nowhere else; slashes there
// count once, and not at the end. An IPv6 address stands in brackets, without a zone. The error is
// a sentence that names the offending part of the URL and what is accepted there; it may quote any
// byte of the URL.
std::expected<MountOptions, std::string> ParseMountUrl(std::string_view url);

// Whether it begins with nfs://, in any case (RFC 3986 3.1).
bool IsMountUrl(std::string_view text);

// Whether "name" or "name=value" is an option of ParseMountUrl(), accepted or refused.
bool KnowsMountOption(std::string_view option);
// The names of the accepted ones, separated by commas.
std::string MountOptionNames();

// The name used in URLs, tables and JSON: "rcu-search".
std::string_view WalkModeName(WalkMode mode);
std::expected<WalkMode, std::string> ParseWalkMode(std::string_view name);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_MOUNT_OPTIONS_H_
