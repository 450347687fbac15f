#include "nfsclient/nfs/delegation.h"

#include <new>
#include <utility>

#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using Record = DelegatedInodes::Record;

namespace {

// The inodes that delegations hold cannot be evicted.
constexpr size_t kPartOfInodes = 4;

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
  const bool has_room =
      superblock.delegated_inodes.size() < superblock.inodes->limit() / kPartOfInodes;
  if (!superblock.options.delegations || !has_room) return AskDelegation::kNo;
  return HasValidityBits(inode, icache::kDataInUse) ? AskDelegation::kYes
                                                    : AskDelegation::kIfFewAreUnused;
}

void KeepDelegation(Superblock& superblock, Inode& inode, const ReplyContext& context,
                    std::shared_ptr<protocol::OpenState> state,
                    std::unique_ptr<protocol::Delegation> delegation) {
  auto record = std::make_unique<Record>();
  record->inode = icache::Hold(inode);
  record->open = std::move(state);
  record->delegation = std::move(delegation);
  // It lives as long as the delegation may call this.
  Record* const watched = record.get();
  const bool is_held = watched->delegation->Watch([&superblock, watched] {
    const auto end = [&] { EndDelegation(superblock, *watched->inode); };
    if (superblock.delegated_inodes.End(*watched, end)) ReturnSoon(superblock);
  });
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

void ReturnAllDelegations(Superblock& superblock, std::chrono::milliseconds limit) try {
  const auto deadline = std::chrono::steady_clock::now() + limit;
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
