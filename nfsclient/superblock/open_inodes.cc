#include "nfsclient/superblock/open_inodes.h"

#include <algorithm>
#include <utility>

#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/protocol/cancellation.h"
#include "rcu/lock_order.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

// Attempts until one succeeds, after each Removal of the inode that ends. False if the thread's
// CallDeadline passes, or its Cancellation ends the wait.
template <class Attempt>
bool OpenInodes::AwaitNoRemoval(icache::Inode& inode, Attempt&& attempt) {
  if (attempt()) [[likely]]
    return true;
  rcu::AssertMaySleep();
  NFSWALK_SYNC_POINT("open-inodes:wait-for-removal");
  std::unique_lock lock(removals_mutex_);
  // An end that is not told precedes MarkAwaited(), and then the next attempt. Asked again after a
  // success, that is the answer: an attempt that succeeds counts.
  bool succeeded = false;
  const auto succeeds = [&] {
    while (!succeeded) {
      succeeded = attempt();
      if (!succeeded && inode.opens.MarkAwaited()) return false;
    }
    return true;
  };
  return protocol::WaitUntil(removal_ended_, lock, protocol::CallDeadline::Current(), succeeds);
}

bool OpenInodes::Add(icache::Inode& inode) {
  return AwaitNoRemoval(inode, [&] { return inode.opens.TryAdd(); });
}

OpenInodes::Removal::Removal(OpenInodes& inodes, icache::Inode& inode)
    : inodes_(inodes),
      inode_(inode),
      began_(inodes.AwaitNoRemoval(inode, [&] { return inode.opens.TryBeginRemoval(); })) {}

OpenInodes::Removal::~Removal() {
  if (!began_ || !inode_.opens.EndRemoval()) return;
  const std::lock_guard lock(inodes_.removals_mutex_);
  inodes_.removal_ended_.notify_all();
}

OpenInodes::Move::Move(OpenInodes& inodes, const icache::Inode* inode)
    : inodes_(inodes), inode_(inode) {
  if (inode == nullptr) return;
  const std::lock_guard lock(inodes.silly_mutex_);
  inodes.moves_.push_back(*this);
}

OpenInodes::Move::~Move() {
  if (inode_ == nullptr) return;
  const std::lock_guard lock(inodes_.silly_mutex_);
  inodes_.moves_.erase(inodes_.moves_.iterator_to(*this));
}

bool OpenInodes::IsMoving(const icache::Inode& inode) const {
  const std::lock_guard lock(silly_mutex_);
  return std::ranges::any_of(moves_, [&](const Move& move) { return move.inode_ == &inode; });
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

bool OpenInodes::HidesIn(const icache::Inode& directory) const {
  if (hidden_.load() == 0) return false;
  const std::lock_guard lock(silly_mutex_);
  return std::ranges::any_of(
      silly_, [&](const SillyName& silly) { return silly.directory.inode() == &directory; });
}

std::vector<icache::InodeRef> OpenInodes::ClosedIn(const icache::Inode& directory) const {
  std::vector<icache::InodeRef> closed;
  if (hidden_.load() == 0) return closed;
  const std::lock_guard lock(silly_mutex_);
  for (const SillyName& silly : silly_) {
    if (silly.directory.inode() != &directory || silly.inode->opens.is_open()) continue;
    closed.push_back(icache::Hold(*silly.inode));
  }
  return closed;
}

auto OpenInodes::TakeAll() -> SillyNames {
  const std::lock_guard lock(silly_mutex_);
  hidden_.store(0);
  return std::exchange(silly_, {});
}

}  // namespace nfswalk::nfs
