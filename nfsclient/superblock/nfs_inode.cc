#include "nfsclient/superblock/nfs_inode.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>

namespace nfswalk::nfs {

// Reads only the identity, which is immutable while hashed, and flags, which can turn a match into
// a legal miss.
bool FileIdentity::Test(const icache::Inode& inode) const {
  return inode.fileid == fileid_ && inode.type.load(std::memory_order_relaxed) == type_ &&
         inode.HasHandle(handle_) &&
         (inode.flags.load(std::memory_order_relaxed) & icache::kStale) == 0;
}

std::errc FileIdentity::Set(icache::Inode& inode) {
  const auto bytes = handle_.bytes();
  if (bytes.size() > icache::Inode::kInlineHandle) {
    const rcu::ByteString* const elsewhere =
        bytes_.Allocate({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (elsewhere == nullptr) return std::errc::not_enough_memory;
    std::memcpy(inode.handle_bytes.data(), &elsewhere, sizeof elsewhere);
  } else {
    std::ranges::copy(bytes, inode.handle_bytes.begin());
  }
  inode.handle_size = static_cast<uint8_t>(bytes.size());
  inode.fileid = fileid_;
  inode.type.store(type_, std::memory_order_relaxed);
  if (type_ == protocol::FileType::kSymlink) {
    std::construct_at(&inode.link_body, nullptr);
  } else if (icache::IsDevice(type_)) {
    std::construct_at(&inode.device, 0);
  } else {
    std::construct_at(&inode.alias, nullptr);
  }
  return {};
}

InodeOperations::InodeOperations(const icache::InodePolicy& policy,
                                 access_cache::AccessLru& access_lru, DepartedInodes& departed)
    : access_lru_(access_lru),
      departed_(departed),
      index_(policy.hash == icache::HashPolicy::kIndex ? std::make_shared<icache::InodeIndex>()
                                                       : nullptr) {}

void InodeOperations::EvictInode(icache::Inode& inode) {
  // Unless it was never published. One that has left the table before its last reference went could
  // have had another of the same handle beside it (INODE-27).
  assert(!inode.Is(icache::kFreeing) || inode.hashed());
  departed_.Note(inode.fileid, inode.attribute_generation);
  inode.access.Clear(inode.access_lock, access_lru_);
  if (inode.type.load(std::memory_order_relaxed) == protocol::FileType::kSymlink) {
    auto* const body = inode.link_body.exchange(nullptr, std::memory_order_relaxed);
    if (body != nullptr) bytes_.FreeDeferred(body);
  } else if (inode.is_directory()) {
    inode.alias.store(nullptr, std::memory_order_relaxed);
  }
}

// Keeps the pointer: readers may compare handles until the grace period ends.
void InodeOperations::DestroyInode(icache::Inode& inode) {
  if (auto* const elsewhere = inode.long_handle()) bytes_.FreeDeferred(elsewhere);
}

}  // namespace nfswalk::nfs
