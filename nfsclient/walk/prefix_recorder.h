// prefix_recorder: what RCU-walk has to do with the path cache: begins at the directory of the last
// component if the thread knows it (WALK-17), else records where that is (WALK-18).
//
// RcuWalk calls Begin() first, EnterDirectory() in every directory whose search was permitted, and
// Forget() at each ".." and symbolic link, behind which nothing keeps the directories cached.
//
// Thread safety: one walk's own, in one RCU section.
#ifndef NFSWALK_NFSCLIENT_WALK_PREFIX_RECORDER_H_
#define NFSWALK_NFSCLIENT_WALK_PREFIX_RECORDER_H_

#include <cstdint>

#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry.h"
#include "nfsclient/walk/path_buffer.h"
#include "nfsclient/walk/path_cache.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::walk {

class PrefixRecorder {
 public:
  // Whose walk it is.
  struct Walker {
    const nfs::Superblock& superblock;
    const sunrpc_auth::CachedCredential* credential;
    uint64_t now_ns;
  };

  // `cache` may be null: neither finds nor records anything then.
  explicit PrefixRecorder(PathCache* cache) : cache_(cache) {}

  // Moves `path` and *position to the directory of the last component, which the credential may
  // search, and returns that directory, known before *position has been loaded. nullptr, with
  // nothing moved, if the cache does not have it.
  [[gnu::always_inline]] inline const vfs::Dentry* Begin(const Walker& walker, PathBuffer& path,
                                                         Position* position) {
    const auto& [superblock, credential, now_ns] = walker;
    if (cache_ == nullptr) return nullptr;
    const auto prefix = PathCache::PrefixKeyOf(path.prefix(), superblock, credential);
    if (!prefix) return nullptr;
    if (const vfs::Dentry* const directory = cache_->Find(prefix, superblock, now_ns, position)) {
      hit_ = true;
      path.AdvanceTo(prefix.text.end());
      return directory;
    }
    if (cache_->ShouldInsert(prefix)) {
      if (const auto sample = superblock.directory_changes.TrySample()) {
        prefix_ = prefix;
        sample_ = *sample;
        cache_->walked().Clear();
      }
    }
    return nullptr;
  }

  // Narrows the validity of what is being recorded by that of the directory at `position`; inserts
  // it once the walk, at `rest` of its path, has reached the end of the prefix. Preconditions: the
  // credential may search the directory.
  [[gnu::always_inline]] inline void EnterDirectory(const Walker& walker, const Position& position,
                                                    const char* rest) {
    if (prefix_) Record(walker, position, rest);
  }

  void Forget() { prefix_ = {}; }

  bool hit() const { return hit_; }

 private:
  void Record(const Walker& walker, const Position& position, const char* rest);

  PathCache* const cache_;
  bool hit_ = false;
  // The prefix that is being recorded; else empty.
  PathCache::Prefix prefix_ = {};
  uint64_t sample_ = 0;
  ValidityInterval validity_ = {};
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_PREFIX_RECORDER_H_
