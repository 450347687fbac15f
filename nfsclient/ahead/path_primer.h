// path_primer: takes the reply of a whole-path lookup into the caches, name by name.
//
// Thread safety: one thread's. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_AHEAD_PATH_PRIMER_H_
#define NFSWALK_NFSCLIENT_AHEAD_PATH_PRIMER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/delegation.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

struct PathNames {
  std::vector<std::string_view> names;
  size_t bytes = 0;  // of the path, up to the end of the last
};
// The names of a path without a leading slash that one request may ask for, without ".".
PathNames SplitPath(const Superblock& superblock, std::string_view path);

class PathPrimer {
 public:
  // The directory where the path begins is locked by the caller, since before the request was sent
  // and until the first Step() or End() has returned. Others are locked here.
  PathPrimer(Superblock& superblock, const sunrpc_auth::CredentialRef& credential, SendStamp stamp,
             DueDelegations& due)
      : superblock_(superblock), credential_(credential), stamp_(stamp), due_(due) {}

  void Begin(vfs::DentryRef& directory, const protocol::LookupPathReply& reply);
  // False if the rest of the path cannot be primed.
  bool Step(std::string_view name, const protocol::PathStep& step);
  // The name does not exist.
  void End(std::string_view name);

  // The result of the last Step().
  vfs::DentryRef& position() { return at_; }

 private:
  bool TakeLock(vfs::InodeLocks::Shared& lock);
  void CacheAccess(icache::Inode& inode, std::optional<uint32_t> granted);
  bool StepDown(std::string_view name, const protocol::PathStep& step);
  bool StepUp(const protocol::PathStep& step);

  Superblock& superblock_;
  const sunrpc_auth::CredentialRef& credential_;
  const SendStamp stamp_;
  bool is_locked_ = true;  // the position
  vfs::DentryRef at_;
  ReplyContext context_;
  DueDelegations& due_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_AHEAD_PATH_PRIMER_H_
