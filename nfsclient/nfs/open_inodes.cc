#include "nfsclient/nfs/open_inodes.h"

#include <algorithm>
#include <utility>

#include "nfsclient/protocol/call_deadline.h"
#include "rcu/lock_order.h"
#include "rcu/mix64.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

OpenInodes::Bucket& OpenInodes::BucketOf(const icache::Inode* inode) {
  return buckets_[rcu::Mix64(reinterpret_cast<uintptr_t>(inode)) % buckets_.size()];
}

// Preconditions: the bucket's mutex is held by `lock`.
bool OpenInodes::AwaitNoRemoval(Bucket& bucket, std::unique_lock<std::mutex>& lock,
                                const icache::Inode* inode) {
  const auto none = [&] {
    return std::ranges::none_of(bucket.removals,
                                [&](const Removal& other) { return &other.inode_ == inode; });
  };
  if (none()) [[likely]]
    return true;
  rcu::AssertMaySleep();
  NFSWALK_SYNC_POINT("open-inodes:wait-for-removal");
  const auto until = protocol::CallDeadline::Current();
  if (until != protocol::CallDeadline::Clock::time_point::max()) {
    return bucket.ended.wait_until(lock, until, none);
  }
  bucket.ended.wait(lock, none);
  return true;
}

bool OpenInodes::Add(Open& open) {
  Bucket& bucket = BucketOf(open.inode);
  std::unique_lock lock(bucket.mutex);
  if (!AwaitNoRemoval(bucket, lock, open.inode)) return false;
  bucket.open.push_front(open);
  return true;
}

void OpenInodes::Remove(Open& open) {
  Bucket& bucket = BucketOf(open.inode);
  const std::lock_guard lock(bucket.mutex);
  bucket.open.erase(bucket.open.iterator_to(open));
}

OpenInodes::Removal::Removal(OpenInodes& inodes, const icache::Inode& inode)
    : inodes_(inodes), inode_(inode) {
  Bucket& bucket = inodes_.BucketOf(&inode_);
  std::unique_lock lock(bucket.mutex);
  began_ = AwaitNoRemoval(bucket, lock, &inode_);
  if (began_) bucket.removals.push_front(*this);
}

OpenInodes::Removal::~Removal() {
  if (!began_) return;
  Bucket& bucket = inodes_.BucketOf(&inode_);
  const std::lock_guard lock(bucket.mutex);
  bucket.removals.erase(bucket.removals.iterator_to(*this));
  bucket.ended.notify_all();
}

bool OpenInodes::Removal::is_open() const {
  Bucket& bucket = inodes_.BucketOf(&inode_);
  const std::lock_guard lock(bucket.mutex);
  return std::ranges::any_of(bucket.open, [&](const Open& open) { return open.inode == &inode_; });
}

auto OpenInodes::Hide(SillyNames& name) -> SillyNames::iterator {
  const std::lock_guard lock(silly_mutex_);
  silly_.splice(silly_.begin(), name);
  hidden_.fetch_add(1);
  return silly_.begin();
}

void OpenInodes::Show(SillyNames::iterator name) {
  SillyNames shown;  // a reference goes without the mutex
  const std::lock_guard lock(silly_mutex_);
  shown.splice(shown.begin(), silly_, name);
  hidden_.fetch_sub(1);
}

bool OpenInodes::IsHiddenSlow(const icache::Inode& directory, std::string_view name) const {
  const std::lock_guard lock(silly_mutex_);
  return std::ranges::any_of(silly_, [&](const SillyName& silly) {
    return silly.directory.inode() == &directory && silly.name == name;
  });
}

auto OpenInodes::Find(const icache::Inode& inode, const vfs::Dentry& directory)
    -> std::optional<SillyNames::iterator> {
  const std::lock_guard lock(silly_mutex_);
  const auto found = std::ranges::find_if(silly_, [&](const SillyName& silly) {
    return silly.inode.get() == &inode && silly.directory.get() == &directory;
  });
  return found != silly_.end() ? std::optional(found) : std::nullopt;
}

auto OpenInodes::FindPlace(const icache::Inode* inode) const -> Place {
  if (hidden_.load() == 0) return {};
  const std::lock_guard lock(silly_mutex_);
  const auto found = std::ranges::find_if(silly_, [&](const SillyName& silly) {
    return inode == nullptr || silly.inode.get() == inode;
  });
  if (found == silly_.end()) return {};
  return {icache::Hold(*found->inode), found->directory.Copy(), found->name};
}

auto OpenInodes::TakeAll() -> SillyNames {
  const std::lock_guard lock(silly_mutex_);
  hidden_.store(0);
  return std::exchange(silly_, {});
}

}  // namespace nfswalk::nfs
