// ref_walk: ref-walk (path_lookupat() without LOOKUP_RCU): holds a reference on its position and
// may ask the server.
//
// Thread safety: one walk's own. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_WALK_REF_WALK_H_
#define NFSWALK_NFSCLIENT_WALK_REF_WALK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "nfsclient/nfs/revalidate.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/path_buffer.h"
#include "nfsclient/walk/walk_flags.h"
#include "nfsclient/walk/walk_start.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::walk {

// kForced: LOOKUP_REVAL, the server is asked for every name.
enum class Revalidation { kAsNeeded, kForced };

class RefWalk {
 public:
  RefWalk(nfs::Superblock& superblock, const WalkStart& start, PathBuffer& path,
          sunrpc_auth::CredentialRef credential, const WalkFlags& flags, Revalidation revalidation);

  // From the start, or from where RCU-walk left off after `links` links.
  void Start();
  void Resume(vfs::DentryRef position, int links);

  // path_lookupat(): the whole path.
  std::errc Resolve();

  // path_parentat(): all but the last component, which a change will name; a link there is not
  // followed. The position is then its directory.
  enum class LastKind { kName, kDot, kDotDot, kRoot };
  std::errc ResolveParent();
  LastKind last_kind() const { return last_kind_; }

  // open(2) with O_CREAT, without O_EXCL (LOOKUP_CREATE): the whole path, also behind a link in
  // last place. Where the last name is missing(), the position is its directory. is_a_directory
  // for a trailing slash.
  std::errc ResolveToCreate();
  // Also after Resolve() with WalkFlags::may_be_missing.
  bool missing() const { return missing_; }

  const std::string& last() const { return last_; }
  bool trailing_slash() const { return trailing_slash_; }

  // After Resolve(): the directory in which last() led to the position; empty if the walk did not
  // end with a name, and where RCU-walk had taken the last step.
  const vfs::DentryRef& parent() const { return parent_; }

  // Before the position's attributes are asked for: lists its directory where the attributes of
  // several children in a row have timed out (ahead/list_ahead.h). The caller asks for what is
  // still not valid.
  void RefreshAhead();

  vfs::DentryRef& position() { return at_; }
  icache::Inode& inode() { return *at_.inode(); }
  const sunrpc_auth::CredentialRef& credential() const { return credential_; }
  // Moves the walk's reference out. Preconditions: nothing of the walk is used afterwards.
  sunrpc_auth::CredentialRef TakeCredential() { return std::move(credential_); }
  // True under forced revalidation.
  bool force() const { return revalidation_ == Revalidation::kForced; }

 private:
  enum class Goal { kPosition, kParent, kCreate };
  std::errc LinkPathWalk(Goal goal);
  void RefreshChild(vfs::DentryRef& directory, const icache::Inode& child);
  // Before the lookup of a cached name that has expired: its neighbours may be looked up with it.
  void RefreshName(const vfs::Name& name, nfs::LookupIntent intent);
  std::errc MayLookup();
  std::errc FollowDotDot();
  std::errc StepToChild(const vfs::Name& name, Goal goal, bool* more);
  std::errc FollowLink(icache::Inode& inode, const vfs::Name& name);

  void TakeLast(const vfs::Name& name);
  std::errc Prime(std::string_view path);
  std::errc StaysInScope() const;
  nfs::LookupIntent IntentOf(const vfs::Name& name, Goal goal) const;

  nfs::Superblock& superblock_;
  const WalkStart start_;
  PathBuffer& path_;
  sunrpc_auth::CredentialRef credential_;
  const WalkFlags& flags_;
  const Revalidation revalidation_;
  const bool primes_;
  // The bytes of the path, counted from its end, that PrimePath() has not been given.
  size_t unprimed_ = SIZE_MAX;
  vfs::DentryRef at_;
  vfs::DentryRef parent_;
  int links_ = 0;
  LastKind last_kind_ = LastKind::kRoot;
  std::string last_;
  bool trailing_slash_ = false;
  bool missing_ = false;
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_REF_WALK_H_
