// batch_lookup: the LOOKUPs of many stopped walks, sent as one batch.
//
// The walks of a batch stop where RCU-walk needs the server. All that they miss is asked for at
// once (version 3: calls of one thread in flight together; version 4: shared COMPOUNDs) and taken
// into the caches by the rules of single calls; then they go on. Symbolic links, and
// names that another thread looks up, are left to walks of their own.
//
// Thread safety: one thread's. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_AHEAD_BATCH_LOOKUP_H_
#define NFSWALK_NFSCLIENT_AHEAD_BATCH_LOOKUP_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "nfsclient/ahead/path_primer.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/delegation.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

// A walk that needs the server, and its position.
struct StoppedWalk {
  vfs::DentryRef at;
  NeedRef need = NeedRef::kNone;
  std::string rest = {};  // of its path, without leading slashes
};

class BatchLookup {
 public:
  // `dont_cache`: files at the end of a path are dropped as after a scan, with this.
  BatchLookup(Superblock& superblock, const sunrpc_auth::CredentialRef& credential, bool dont_cache)
      : superblock_(superblock),
        credential_(credential),
        dont_cache_(dont_cache),
        due_(superblock, credential) {}

  // Errors: timed_out, operation_canceled: the walks must not ask by themselves; the walks meet all
  // others. Throws std::bad_alloc with nothing half done.
  std::errc Fetch(std::span<StoppedWalk> walks);
  // A walk that stops there again, for a name, has not been answered yet.
  bool WasListed(const icache::Inode& directory) const { return listed_.contains(&directory); }

 private:
  // A question that is asked once for one or more walks.
  struct Item {
    StoppedWalk* walk = nullptr;  // the first of them
    std::string_view name = {};   // the first one of `path`; empty: about the file itself
    bool rights = false;
    PathNames path = {};
  };

  // State of the file asked about, from before the calls: as for a single call each.
  struct Sample {
    SendStamp stamp;
    uint64_t change_id;
    uint64_t epoch;  // of access rights
  };

  bool MayList() const { return superblock_.options.rdirplus && !dont_cache_; }
  std::vector<Item> Collect(std::span<StoppedWalk> walks);
  static void AskOfDirectoriesFirst(std::vector<Item>& items);
  std::errc ListDirectories(std::vector<Item>& items);
  std::errc Ask(std::span<Item> items);
  void TakeIn(Item& item, const protocol::LookupPathReply& reply, const Sample& sample);
  void TakeName(Item& item, const protocol::LookupPathReply& reply, const Sample& sample);
  void MarkEnd(const Item& item, vfs::DentryRef child);

  Superblock& superblock_;
  const sunrpc_auth::CredentialRef& credential_;
  const bool dont_cache_;
  std::unordered_set<const icache::Inode*> listed_;
  std::vector<vfs::DentryRef> scanned_;
  DueDelegations due_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_AHEAD_BATCH_LOOKUP_H_
