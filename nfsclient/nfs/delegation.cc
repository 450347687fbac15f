#include "nfsclient/nfs/delegation.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using Record = DelegatedInodes::Record;

namespace {

// The inodes that delegations hold cannot be evicted. Directories take no more than half of that.
constexpr size_t kPartOfInodes = 4;

bool HasRoom(const Superblock& superblock, size_t part) {
  return superblock.delegated_inodes.size() < superblock.inodes->limit() / part;
}

// All that AsksForDirectory() tests, but for what is delegated already.
bool MayAsk(const Superblock& superblock, const Inode& inode) {
  const MountOptions& options = superblock.options;
  return options.delegations && options.directory_delegations && inode.is_directory() &&
         !superblock.delegated_inodes.is_closed() && HasRoom(superblock, 2 * kPartOfInodes) &&
         superblock.protocol->delegates_directories();
}

// AsksForDirectory(), of a question that is still to be asked.
bool IsDue(Superblock& superblock, const Inode& inode) {
  return MayAsk(superblock, inode) && !superblock.delegated_inodes.Has(inode) &&
         superblock.asked_delegations.IsDue(inode, rcu::CoarseNowNs(),
                                            superblock.options.delegation_pause_s);
}

// Has a thread return those that have ended. Where there is none, the next one is what does.
void ReturnSoon(Superblock& superblock) {
  TaskThreads::Task task = [&superblock] {
    while (superblock.delegated_inodes.TakeEnded() != nullptr) {
    }
  };
  (void)superblock.delegation_returns.TryRun(task);
}

}  // namespace

protocol::AskDelegation AsksDelegation(const Superblock& superblock, const Inode& inode) {
  using protocol::AskDelegation;
  if (!superblock.options.delegations || !HasRoom(superblock, kPartOfInodes))
    return AskDelegation::kNo;
  return HasValidityBits(inode, icache::kDataInUse) ? AskDelegation::kYes
                                                    : AskDelegation::kIfFewAreUnused;
}

bool AsksForDirectory(Superblock& superblock, const Inode& inode) {
  return MayAsk(superblock, inode) && !superblock.delegated_inodes.Has(inode) &&
         superblock.asked_delegations.Begin(inode, rcu::CoarseNowNs(),
                                            superblock.options.delegation_pause_s);
}

void DueDelegations::Note(Inode& inode, const ReplyContext& context) {
  if (!context.had_expired || directories_.size() >= kMax || !IsDue(superblock_, inode)) return;
  const auto is_noted = [&](const icache::InodeRef& noted) { return noted.get() == &inode; };
  if (std::ranges::none_of(directories_, is_noted)) directories_.push_back(icache::Hold(inode));
}

DueDelegations::~DueDelegations() {
  if (directories_.empty()) return;
  try {
    TaskThreads::Task ask = [&superblock = superblock_, directories = std::move(directories_),
                             credential = credential_->key()] {
      for (const icache::InodeRef& directory : directories) {
        if (!IsDue(superblock, *directory)) continue;  // another thread has asked for it
        const protocol::CallDeadline deadline(superblock.protocol->NewDeadline());
        (void)RevalidateInode(superblock, *directory, credential, /*force=*/true);
      }
    };
    (void)superblock_.background.TryRun(ask);
  } catch (const std::bad_alloc&) {  // the next reply has it asked for
  }
}

void WakeDelegation(Superblock& superblock, Inode& inode) {
  if (!inode.is_directory() || superblock.delegated_inodes.size() == 0) return;
  superblock.delegated_inodes.Wake(inode, [&] { GoOnDelegation(inode); });
}

void KeepDelegation(Superblock& superblock, Inode& inode, const ReplyContext& context,
                    std::shared_ptr<protocol::OpenState> state,
                    std::unique_ptr<protocol::Delegation> delegation) {
  auto record = std::make_unique<Record>();
  record->inode = icache::Hold(inode);
  record->open = std::move(state);
  record->delegation = std::move(delegation);
  // It lives as long as the delegation may call these.
  Record* const watched = record.get();
  const auto end = [&superblock, watched] {
    const auto end_it = [&] { EndDelegation(superblock, *watched->inode); };
    if (superblock.delegated_inodes.End(*watched, end_it)) ReturnSoon(superblock);
  };
  const auto rest = [&superblock, watched] {
    return superblock.delegated_inodes.Rest(*watched,
                                            [&] { RestDelegation(superblock, *watched->inode); });
  };
  const bool is_held =
      watched->delegation->Watch(end, inode.is_directory() ? std::function<bool()>(rest) : nullptr);
  NFSWALK_SYNC_POINT("delegation:watched");
  const auto begin = [&] { BeginDelegation(superblock, inode, context); };
  if (is_held && superblock.delegated_inodes.Add(record, begin)) return;
  superblock.delegated_inodes.Drop(std::move(record));
  ReturnSoon(superblock);
}

void ReturnDelegation(Superblock& superblock, Inode& inode) {
  // Destroyed here.
  (void)superblock.delegated_inodes.Take(inode, [&] { EndDelegation(superblock, inode); });
}

void GiveUpDelegation(Superblock& superblock, Inode& inode) {
  if (superblock.delegated_inodes.size() == 0) return;
  auto record = superblock.delegated_inodes.Take(inode, [&] { EndDelegation(superblock, inode); });
  if (record == nullptr) return;
  superblock.delegated_inodes.Drop(std::move(record));
  ReturnSoon(superblock);
}

void ReturnAllDelegations(Superblock& superblock, std::chrono::milliseconds limit) try {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  superblock.delegated_inodes.Close();
  // Grants to these tasks are not kept, but returned.
  if (superblock.options.delegations) superblock.background.WaitUntil(deadline);
  for (const icache::InodeRef& inode : superblock.delegated_inodes.All()) {
    auto record =
        superblock.delegated_inodes.Take(*inode, [&] { EndDelegation(superblock, *inode); });
    if (record != nullptr) superblock.delegated_inodes.Drop(std::move(record));
  }
  for (size_t i = 0; i < Superblock::kReturnsMax; ++i) ReturnSoon(superblock);
  superblock.delegation_returns.WaitUntil(deadline);
} catch (const std::bad_alloc&) {  // the server takes them back with the lease
}

}  // namespace nfswalk::nfs
