#include "nfsclient/nfs/inode_operations.h"

#include <algorithm>

namespace nfswalk::nfs {

// Reads only the identity, which is immutable while hashed, and flags, which can turn a match into
// a legal miss.
bool FileIdentity::Test(const vfs::Inode& inode) const {
  return inode.fileid == fileid_ && inode.type.load(std::memory_order_relaxed) == type_ &&
         inode.HasHandle(handle_) &&
         (inode.flags.load(std::memory_order_relaxed) & vfs::kStale) == 0;
}

std::errc FileIdentity::Set(vfs::Inode& inode) {
  const auto bytes = handle_.bytes();
  inode.long_handle = nullptr;
  if (bytes.size() > vfs::Inode::kInlineHandle) {
    inode.long_handle =
        bytes_.Allocate({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (inode.long_handle == nullptr) return std::errc::not_enough_memory;
  } else {
    std::ranges::copy(bytes, inode.handle_bytes.begin());
  }
  inode.handle_size = static_cast<uint8_t>(bytes.size());
  inode.fileid = fileid_;
  inode.type.store(type_, std::memory_order_relaxed);
  return {};
}

InodeOperations::InodeOperations(const vfs::InodePolicy& policy,
                                 access_cache::AccessLru& access_lru)
    : access_lru_(access_lru),
      index_(policy.hash == vfs::HashPolicy::kIndex ? std::make_shared<vfs::InodeIndex>()
                                                    : nullptr) {}

void InodeOperations::EvictInode(vfs::Inode& inode) {
  inode.access.Clear(access_lru_);
  if (auto* body = inode.link_body.exchange(nullptr, std::memory_order_relaxed)) {
    bytes_.FreeDeferred(body);
  }
  // The pointer stays: others may be comparing handles until the grace period ends.
  if (inode.long_handle != nullptr) bytes_.FreeDeferred(inode.long_handle);
  inode.alias.store(nullptr, std::memory_order_relaxed);
}

}  // namespace nfswalk::nfs
