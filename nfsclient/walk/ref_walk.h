// ref_walk: the second and third pass. It holds a reference on where it is and may ask the server.
//
// Thread safety: one walk's own. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_WALK_REF_WALK_H_
#define NFSWALK_NFSCLIENT_WALK_REF_WALK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "nfsclient/nfs/revalidate.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/walk/path_buffer.h"
#include "nfsclient/walk/walk_flags.h"
#include "nfsclient/walk/walk_start.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::walk {

class RefWalk {
 public:
  // `force`: LOOKUP_REVAL, every name is asked for again.
  RefWalk(Superblock& superblock, const WalkStart& start, PathBuffer& path,
          const sunrpc_auth::CredentialRef& credential, WalkFlags flags, bool force);

  // From the start, or from where a walk under RCU left off, having followed `links`.
  void Start();
  void Resume(vfs::DentryRef position, int links);

  std::errc Resolve();

  // All but the last component, which is what a changing operation will name; a link there is not
  // followed. The position is then its directory.
  enum class LastKind { kName, kDot, kDotDot, kRoot };
  std::errc ResolveParent();
  LastKind last_kind() const { return last_kind_; }
  const std::string& last() const { return last_; }
  bool trailing_slash() const { return trailing_slash_; }

  // After Resolve(): the directory in which last() led to the position; empty if the walk did not
  // end with a name.
  const vfs::DentryRef& parent() const { return parent_; }

  vfs::DentryRef& position() { return at_; }
  icache::Inode& inode() { return *at_.inode(); }
  const sunrpc_auth::CredentialRef& credential() const { return credential_; }
  bool force() const { return force_; }

 private:
  std::errc Prime(std::string_view path);
  std::errc Enter();
  std::errc StepToParent();
  std::errc StaysInScope() const;
  std::errc StepToChild(const vfs::Name& name, bool* more);
  nfs::LookupIntent IntentOf(const vfs::Name& name) const;
  std::errc FollowLink(icache::Inode& inode, const char* rest);
  bool IsLast(const vfs::Name& name);

  Superblock& superblock_;
  const WalkStart start_;
  PathBuffer& path_;
  const sunrpc_auth::CredentialRef& credential_;
  const WalkFlags flags_;
  const bool force_;
  const bool asks_for_whole_paths_;
  // Bytes of the path, counted from its end, that PrimePath() has not been asked for.
  size_t unprimed_ = SIZE_MAX;
  vfs::DentryRef at_;
  vfs::DentryRef parent_;
  int links_ = 0;
  LastKind last_kind_ = LastKind::kRoot;
  std::string last_;
  bool trailing_slash_ = false;
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_REF_WALK_H_
