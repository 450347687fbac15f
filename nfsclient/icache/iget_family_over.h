// iget_family_over: the iget family over any table.
//
// Policies differ in the lock that Table::Lock() takes, in whether the first lookup of the Rcu
// calls takes it, and in what arbitrates among creators: the chain's lock, or AddUnique() of a
// lock-free table. The order of steps is INODE-4 and INODE-5.
#ifndef NFSWALK_NFSCLIENT_ICACHE_IGET_FAMILY_OVER_H_
#define NFSWALK_NFSCLIENT_ICACHE_IGET_FAMILY_OVER_H_

#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "nfsclient/icache/iget_family.h"
#include "nfsclient/icache/inode_table.h"
#include "rcu/lock_order.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"
#include "rcu/wait_table.h"

namespace nfswalk::icache {

template <class Table>
class IgetFamilyOver final : public IgetFamily {
 public:
  IgetFamilyOver(const InodeCacheOptions& options, InodeOperations& operations,
                 std::shared_ptr<Table> table)
      : IgetFamily(options, operations),
        table_(std::move(table)),
        first_lookup_is_rcu_(FirstLookupIsRcu(options.policy.hash)) {}
  ~IgetFamilyOver() override { Unmount(); }

  const std::shared_ptr<Table>& table() const { return table_; }

  IgetResult Iget(uint64_t fileid) override {
    struct FileId : InodeIdentity {
      explicit FileId(uint64_t fileid) : fileid(fileid) {}
      bool Test(const Inode& inode) const override { return inode.fileid == fileid; }
      std::errc Set(Inode& inode) override {
        inode.fileid = fileid;
        return {};
      }
      const uint64_t fileid;
    } identity(fileid);
    return IgetOrCreate(HashOf(fileid), identity, first_lookup_is_rcu_);
  }
  IgetResult Iget5(uint64_t hash, InodeIdentity& identity) override {
    return IgetOrCreate(hash, identity, /*rcu=*/false);
  }
  IgetResult Iget5Rcu(uint64_t hash, InodeIdentity& identity) override {
    return IgetOrCreate(hash, identity, first_lookup_is_rcu_);
  }

  InodeRef Ilookup(uint64_t fileid) override {
    return Lookup(
        HashOf(fileid),
        [this, fileid](const Inode& inode) { return Owns(inode) && inode.fileid == fileid; },
        first_lookup_is_rcu_, /*wait_new=*/true);
  }
  InodeRef Ilookup5(uint64_t hash, const InodeIdentity& identity) override {
    return Lookup(hash, Match(identity), /*rcu=*/false, /*wait_new=*/true);
  }
  InodeRef Ilookup5Rcu(uint64_t hash, const InodeIdentity& identity) override {
    return Lookup(hash, Match(identity), first_lookup_is_rcu_, /*wait_new=*/true);
  }
  InodeRef Ilookup5NoWait(uint64_t hash, const InodeIdentity& identity) override {
    return Lookup(hash, Match(identity), /*rcu=*/false, /*wait_new=*/false);
  }
  InodeRef Ilookup5NoWaitRcu(uint64_t hash, const InodeIdentity& identity) override {
    return Lookup(hash, Match(identity), first_lookup_is_rcu_, /*wait_new=*/false);
  }

  InodeRef FindNoWait(uint64_t hash, const std::function<Take(Inode&)>& match) override {
    rcu::ReadGuard guard;
    Chain chain = table_->Lock(hash);
    Take verdict = Take::kNext;
    Inode* found = chain.Find(hash, [&](Inode& inode) {
      verdict = Owns(inode) ? match(inode) : Take::kNext;
      return verdict != Take::kNext;
    });
    return verdict == Take::kTake ? InodeRef(found) : InodeRef();
  }
  const Inode* FindRcu(uint64_t hash, const InodeIdentity& identity) const override {
    rcu::AssertInReadSection();
    return table_->FindRcu(hash, [&](const Inode& inode) {
      return Owns(inode) && !inode.Is(kDying) && identity.Test(inode);
    });
  }

  IgetResult Insert5(InodeRef fresh, uint64_t hash, InodeIdentity& identity) override {
    rcu::AssertMaySleep();
    IgetResult result = Insert(*fresh, hash, identity);
    if (result && result->is_new) fresh.release();
    return result;
  }
  std::errc InsertLocked(Inode& fresh) override;

  void Unhash(Inode& inode) override;

  void ForEachChain(const std::function<void(size_t)>& fn) override;

 protected:
  LockAcquisitions table_lock_acquisitions() const override;

 private:
  using Chain = typename Table::Chain;

  struct Found {
    Inode* inode = nullptr;  // with a reference
    bool is_new = false;
    bool stale = false;
  };

  auto Match(const InodeIdentity& identity) const {
    return [this, &identity](const Inode& inode) { return Owns(inode) && identity.Test(inode); };
  }

  template <class MatchInode>
  Found Find(uint64_t hash, const MatchInode& match, std::optional<Chain>* chain);
  template <class MatchInode>
  Found FindFirst(uint64_t hash, const MatchInode& match, bool rcu) {
    if (rcu) return Find(hash, match, /*chain=*/nullptr);
    std::optional<Chain> chain(table_->Lock(hash));
    return Find(hash, match, &chain);
  }
  template <class MatchInode>
  InodeRef Lookup(uint64_t hash, const MatchInode& match, bool rcu, bool wait_new);
  bool Settle(const Found& found);
  IgetResult IgetOrCreate(uint64_t hash, InodeIdentity& identity, bool rcu);
  IgetResult Insert(Inode& own, uint64_t hash, InodeIdentity& identity);
  template <class MatchInode>
  bool Publish(Chain& chain, Inode& own, uint64_t hash, uint16_t state, const MatchInode& match);

  const std::shared_ptr<Table> table_;
  const bool first_lookup_is_rcu_;
};

// find_inode: a reference on the inode that matches. Waits, without the chain's lock, for a dying
// one to leave the hash, and starts again. `chain`: the locked chain; nullptr for a lookup under
// RCU.
template <class Table>
template <class MatchInode>
auto IgetFamilyOver<Table>::Find(uint64_t hash, const MatchInode& match,
                                 std::optional<Chain>* chain) -> Found {
  if (chain == nullptr) rcu::AssertMaySleep();
  for (;;) {
    std::optional<rcu::WaitTable::Ticket> ticket;
    {
      rcu::ReadGuard guard;
      Inode* inode = chain != nullptr ? (*chain)->Find(hash, match) : table_->FindRcu(hash, match);
      if (inode == nullptr) return {};
      NFSWALK_SYNC_POINT("find:after-match");
      // The identity is unchanged: memory is reused only after a grace period.
      std::lock_guard lock(inode->lock);
      NFSWALK_SYNC_POINT("find:after-ilock");
      if (!inode->Is(kDying)) {
        if (inode->Is(kCreating)) return {.stale = true};
        inode->TakeReferenceLocked();
        return {.inode = inode, .is_new = inode->Is(kNew)};
      }
      if (!inode->hashed()) {  // its waiters were woken: must not sleep
        assert(chain == nullptr || Table::kLockFree);
        continue;
      }
      ticket = rcu::WaitTable::Prepare(inode);
      NFSWALK_SYNC_POINT("wait:after-ticket");
    }
    if (chain != nullptr) chain->reset();
    rcu::WaitTable::Sleep(*ticket);
    if (chain != nullptr) chain->emplace(table_->Lock(hash));
  }
}

// wait_on_inode: waits until kNew is cleared. False, without a reference, if the inode was
// discarded meanwhile: the caller starts again.
template <class Table>
bool IgetFamilyOver<Table>::Settle(const Found& found) {
  if (found.is_new) WaitNew(*found.inode);
  if (found.inode->hashed()) return true;
  Put(found.inode);
  return false;
}

template <class Table>
template <class MatchInode>
InodeRef IgetFamilyOver<Table>::Lookup(uint64_t hash, const MatchInode& match, bool rcu,
                                       bool wait_new) {
  rcu::AssertMaySleep();
  for (;;) {
    const Found found = FindFirst(hash, match, rcu);
    if (found.inode == nullptr) return {};
    if (!wait_new || Settle(found)) return InodeRef(found.inode);
  }
}

template <class Table>
IgetResult IgetFamilyOver<Table>::IgetOrCreate(uint64_t hash, InodeIdentity& identity, bool rcu) {
  rcu::AssertMaySleep();
  for (;;) {
    const Found found = FindFirst(hash, Match(identity), rcu);
    if (found.stale) return std::unexpected(InodeError::kStale);
    if (found.inode == nullptr) break;
    if (Settle(found)) return FoundInode{InodeRef(found.inode), /*is_new=*/false};
  }
  Inode* own = Allocate();
  if (own == nullptr) return std::unexpected(InodeError::kNoMemory);
  NFSWALK_SYNC_POINT("insert:before-lock");
  IgetResult result = Insert(*own, hash, identity);
  if (!result || !result->is_new) FreeUnpublished(own);
  return result;
}

// inode_insert5: under the chain's lock, the existing inode, or `own`.
template <class Table>
IgetResult IgetFamilyOver<Table>::Insert(Inode& own, uint64_t hash, InodeIdentity& identity) {
  const auto match = Match(identity);
  bool is_set = false;
  for (;;) {
    Found found;
    {
      std::optional<Chain> chain(table_->Lock(hash));
      found = Find(hash, match, &chain);
      if (found.stale) return std::unexpected(InodeError::kStale);
      if (found.inode == nullptr) {
        if (!is_set && identity.Set(own) != std::errc{}) {
          return std::unexpected(InodeError::kSetFailed);
        }
        is_set = true;
        if (!Publish(*chain, own, hash, kNew, match)) continue;
      }
    }
    if (found.inode == nullptr) {
      NFSWALK_SYNC_POINT("insert:before-sblist");
      Enlist(own);
      return FoundInode{InodeRef(&own), /*is_new=*/true};
    }
    if (Settle(found)) return FoundInode{InodeRef(found.inode), /*is_new=*/false};
  }
}

// False if another thread was first, which only a lock-free table detects here.
template <class Table>
template <class MatchInode>
bool IgetFamilyOver<Table>::Publish(Chain& chain, Inode& own, uint64_t hash, uint16_t state,
                                    [[maybe_unused]] const MatchInode& match) {
  NFSWALK_SYNC_POINT("insert:before-publish");
  assert(!own.hashed());
  // Unreachable yet, so without its lock (INODE-1).
  own.state.store(state, std::memory_order_relaxed);
  own.hash.store(hash, std::memory_order_relaxed);
  if constexpr (Table::kLockFree) {
    rcu::ReadGuard guard;
    if (table_->AddUnique(hash, match, &own) == nullptr) return true;
    own.hash.store(0, std::memory_order_relaxed);
    own.state.store(0, std::memory_order_relaxed);
    return false;
  } else {
    chain.Insert(&own);
    return true;
  }
}

template <class Table>
std::errc IgetFamilyOver<Table>::InsertLocked(Inode& fresh) {
  rcu::AssertMaySleep();
  const uint64_t hash = HashOf(fresh.fileid);
  // A dying inode is no conflict: this one is inserted in front of it and found first.
  const auto match = [&](const Inode& inode) {
    return Owns(inode) && inode.fileid == fresh.fileid && !inode.Is(kDying);
  };
  for (;;) {
    Inode* other;
    {
      rcu::ReadGuard guard;
      Chain chain = table_->Lock(hash);
      other = chain.Find(hash, match);
      if (other == nullptr) {
        if (!Publish(chain, fresh, hash, kNew | kCreating, match)) continue;
      } else {
        NFSWALK_SYNC_POINT("insert-locked:after-match");
        std::lock_guard lock(other->lock);
        if (other->Is(kDying)) continue;
        if (other->Is(kCreating)) return std::errc::device_or_resource_busy;
        other->TakeReferenceLocked();
      }
    }
    if (other == nullptr) {
      NFSWALK_SYNC_POINT("insert:before-sblist");
      Enlist(fresh);
      return {};
    }
    WaitNew(*other);
    const bool taken = other->hashed();
    Put(other);
    if (taken) return std::errc::device_or_resource_busy;
  }
}

template <class Table>
void IgetFamilyOver<Table>::Unhash(Inode& inode) {
  for (;;) {
    const uint64_t hash = inode.hash.load(std::memory_order_relaxed);
    if (hash == 0) break;
    NFSWALK_SYNC_POINT("unhash:before-lock");
    rcu::ReadGuard guard;
    Chain chain = table_->Lock(hash);
    std::lock_guard lock(inode.lock);
    // It may have been unhashed since, and be in no chain or in another.
    if (inode.hash.load(std::memory_order_relaxed) != hash) continue;
    chain.Remove(&inode);
    inode.hash.store(0, std::memory_order_relaxed);
    break;
  }
  NFSWALK_SYNC_POINT("evict:after-unhash");
  rcu::WaitTable::Wake(&inode);
  NFSWALK_SYNC_POINT("evict:after-wake");
}

template <class Table>
LockAcquisitions IgetFamilyOver<Table>::table_lock_acquisitions() const {
  LockAcquisitions taken;
  if constexpr (requires { table_->locks().acquisitions(); }) {
    const rcu::StripedLocks& locks = table_->locks();
    (locks.size() == 1 ? taken.global : taken.sharded) = locks.acquisitions();
    taken.hottest = taken.hottest_of_hash = locks.acquisitions_of_hottest();
  }
  return taken;
}

template <class Table>
void IgetFamilyOver<Table>::ForEachChain(const std::function<void(size_t)>& fn) {
  if constexpr (!Table::kLockFree) {
    uint64_t hash = 0;
    do {
      size_t length = 0;
      hash = table_->VisitInOrder(hash, [&](Inode&) { ++length; }, [] { return false; });
      fn(length);
    } while (hash != 0);
  }
}

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_IGET_FAMILY_OVER_H_
