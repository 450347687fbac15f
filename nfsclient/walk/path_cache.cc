#include "nfsclient/walk/path_cache.h"

#include <cstring>
#include <new>
#include <utility>

#include "nfsclient/vfs/name.h"

namespace nfswalk::walk {

namespace {

// Ends the thread's cache. Calls made later on, by destructors of other objects of the thread, do
// without.
struct EndOfThread {
  PathCache* cache = nullptr;
  bool has_come = false;

  ~EndOfThread() {
    has_come = true;
    delete std::exchange(cache, nullptr);
  }
};

}  // namespace

PathCache* PathCache::OfThread() {
  thread_local EndOfThread end;
  if (end.cache == nullptr && !end.has_come) end.cache = new (std::nothrow) PathCache;
  return end.cache;
}

PathCache::Way PathCache::WayOf(std::string_view path, const Superblock& superblock,
                                const sunrpc_auth::CachedCredential* credential) {
  const void* const slash = memrchr(path.data(), '/', path.size());
  if (slash == nullptr) return {};
  size_t length = static_cast<size_t>(static_cast<const char*>(slash) - path.data());
  while (length > 0 && path[length - 1] == '/') --length;
  if (length == 0 || length > kTextMax) return {};
  const std::string_view text = path.substr(0, length);
  return {text, superblock.mount_id, credential,
          vfs::HashPath(text, superblock.mount_id ^ reinterpret_cast<uintptr_t>(credential))};
}

bool PathCache::Wants(const Way& way) {
  uint64_t& wanted = entries_[IndexOf(way)].wanted;
  if (wanted == way.hash) return true;
  wanted = way.hash;
  return false;
}

void PathCache::Remember(const Way& way, const Position& position, uint64_t sample,
                         const BelievedFor& believed) {
  Entry& entry = entries_[IndexOf(way)];
  entry.hash = way.hash;
  entry.mount = way.mount;
  entry.credential = way.credential;
  entry.sample = sample;
  entry.believed = believed;
  entry.length = way.text.size();
  entry.position = position;
  std::memcpy(entry.bytes.data(), way.text.data(), way.text.size());
}

}  // namespace nfswalk::walk
