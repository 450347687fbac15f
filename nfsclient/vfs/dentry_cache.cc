#include "nfsclient/vfs/dentry_cache.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>

#include "rcu/defer.h"
#include "rcu/lock_order.h"
#include "rcu/read_guard.h"
#include "rcu/spin_wait.h"
#include "rcu/sync_point.h"

namespace nfswalk::vfs {

namespace {

constexpr size_t kPruneBatch = 64;
// Tries before a reader takes the rename lock.
constexpr int kSpoiltTriesMax = 16;

// Reinitializes the lockref of memory whose previous dentry was marked dead.
void TakeFirstReference(Dentry& dentry) {
  dentry.lockref.Lock();
  dentry.lockref.Revive(1);
  dentry.lockref.Unlock();
}

size_t PressureAt(size_t dentries_max, size_t inodes_max) {
  return std::min(dentries_max, inodes_max) / 8 * 7;
}

// The change key of the directory that the dentry names; nullptr: it names none.
const void* ChangeKeyOf(const Dentry& dentry) {
  const icache::Inode* inode = dentry.inode.load(std::memory_order_relaxed);
  return inode != nullptr ? inode->change_key() : nullptr;
}

bool IsRegular(const icache::Inode& inode) {
  return inode.type.load(std::memory_order_relaxed) == protocol::FileType::kRegular;
}

}  // namespace

bool Dentry::HasRestOfName(const Name& name) const {
  if (name.length > kInlineName) {
    const rcu::ByteString* text =
        long_name.load(std::memory_order_acquire);  // pairs with DentryCache::SetName()
    NFSWALK_SYNC_POINT("dentry:long-name-loaded");
    return text != nullptr && text->size == name.length &&
           std::memcmp(text->data(), name.data, name.length) == 0;
  }
  std::array<uint64_t, kInlineWords> wanted{};
  std::memcpy(wanted.data(), name.data, name.length);
  for (size_t i = 2; i < kInlineWords; ++i) {
    if (name_words[i].load(std::memory_order_relaxed) != wanted[i]) return false;
  }
  return true;
}

size_t Dentry::CopyName(char* into) const {
  const rcu::ByteString* text =
      long_name.load(std::memory_order_acquire);  // pairs with DentryCache::SetName()
  if (text != nullptr) {
    std::memcpy(into, text->data(), text->size);
    return text->size;
  }
  for (size_t i = 0; i < kInlineWords; ++i) {
    const uint64_t word = name_words[i].load(std::memory_order_relaxed);
    std::memcpy(into + i * sizeof word, &word, sizeof word);
  }
  return strnlen(into, kInlineName);
}

DentryRef DentryRef::Copy() const {
  dentry_->lockref.Get();
  return {cache_, dentry_};
}

DentryCache::DentryCache(rcu::KeyedChangeCount& directory_changes, size_t dentries_max,
                         size_t initial_buckets, size_t names_per_chain, size_t inodes_max)
    : directory_changes_(directory_changes),
      limit_(dentries_max),
      pressure_at_(PressureAt(dentries_max, inodes_max)),
      table_(initial_buckets, names_per_chain) {}

DentryCache::~DentryCache() {
  while (lru_.size() > 0) Prune(kPruneBatch);
  rcu::Barrier();
}

// Takes over `long_name`, set exactly if the name does not fit inline. Preconditions: seq is odd,
// or the dentry is unpublished.
void DentryCache::SetName(Dentry& dentry, const Name& name, rcu::ByteString* long_name) {
  std::array<uint64_t, Dentry::kInlineWords> words{};
  std::memcpy(words.data(), name.data, std::min(name.length, Dentry::kInlineName));
  for (size_t i = 0; i < words.size(); ++i) {
    dentry.name_words[i].store(words[i], std::memory_order_relaxed);
  }
  rcu::ByteString* old = dentry.long_name.load(std::memory_order_relaxed);
  dentry.long_name.store(long_name, std::memory_order_release);  // pairs with Dentry::HasName()
  if (old != nullptr) long_names_.FreeDeferred(old);
}

bool DentryCache::AllocateLongName(const Name& name, rcu::ByteString** text) {
  *text = nullptr;
  if (name.length <= Dentry::kInlineName) return true;
  *text = long_names_.Allocate(name.view());
  return *text != nullptr;
}

// Type-stable memory: the sequence count continues from the previous dentry's.
Dentry* DentryCache::Allocate(Dentry& parent, const Name& name, icache::Inode* inode,
                              uint64_t verifier) {
  rcu::ByteString* text;
  if (!AllocateLongName(name, &text)) return nullptr;
  Dentry* dentry = pool_.Allocate();
  if (dentry == nullptr) {
    if (text != nullptr) long_names_.FreeDeferred(text);
    return nullptr;
  }
  SetName(*dentry, name, text);
  TakeFirstReference(*dentry);
  dentry->lru_state.store(0, std::memory_order_relaxed);
  dentry->parent.store(&parent, std::memory_order_relaxed);
  dentry->inode.store(inode, std::memory_order_relaxed);
  dentry->verifier.store(verifier, std::memory_order_relaxed);
  dentry->hash.store(name.hash, std::memory_order_relaxed);
  live_.fetch_add(1, std::memory_order_relaxed);
  return dentry;
}

DentryRef DentryCache::MakeRoot(icache::InodeRef inode) {
  Dentry* root = pool_.Allocate();
  if (root == nullptr) return {};
  TakeFirstReference(*root);
  root->parent.store(root, std::memory_order_relaxed);
  // A server may export a file or a symbolic link.
  if (inode->is_directory()) inode->alias.store(root, std::memory_order_relaxed);
  root->inode.store(inode.release(), std::memory_order_relaxed);
  live_.fetch_add(1, std::memory_order_relaxed);
  return {this, root};
}

DentryRef DentryCache::TryReference(Dentry* dentry) {
  return dentry->lockref.GetNotDead() ? DentryRef(this, dentry) : DentryRef();
}

std::unique_lock<rcu::SpinLock> DentryCache::KeepRenamesOut(int tries) {
  if (tries < kSpoiltTriesMax) [[likely]]
    return {};
  NFSWALK_SYNC_POINT("dentry:keep-renames-out");
  return std::unique_lock(rename_lock_);
}

DentryRef DentryCache::Lookup(Dentry& parent, const Name& name) {
  for (int tries = 0;; ++tries) {
    DentryRef found;  // dropped after the section and the lock if its check fails
    const auto no_renames = KeepRenamesOut(tries);
    uint64_t renames = rename_seq_.Begin();
    bool stable;
    {
      rcu::ReadGuard guard;
      uint64_t seq = 0;
      Dentry* dentry = FindRcu(&parent, name, &seq);
      if (dentry == nullptr) {
        // Under the chain's lock a miss is exact, except for a rename between two chains.
        auto chain = table_.Lock(name.hash);
        dentry = chain.Find([&](const Dentry& candidate) {
          seq = candidate.seq.Begin();
          return Matches(candidate, &parent, name);
        });
      }
      NFSWALK_SYNC_POINT("lookup:before-reference");
      if (dentry != nullptr) {
        found = TryReference(dentry);
        // It is dying but may still be hashed. Unhash it: the miss is authoritative, so no later
        // RCU-walk may find the name.
        if (!found) Drop(*dentry);
      }
      NFSWALK_SYNC_POINT("lookup:before-check");
      stable = found && !dentry->seq.Changed(seq);
    }
    if (stable) return found;
    if (!found && !rename_seq_.Changed(renames)) return {};
  }
}

// Parent(), and read() of what else belongs to its moment; repeated until nothing came between.
template <class Read>
DentryRef DentryCache::ParentAnd(Dentry& child, Read&& read) {
  for (int tries = 0;; ++tries) {
    DentryRef parent;
    const auto no_renames = KeepRenamesOut(tries);
    {
      rcu::ReadGuard guard;
      uint64_t seq = child.seq.Begin();
      parent = TryReference(child.parent.load(std::memory_order_relaxed));
      read();
      NFSWALK_SYNC_POINT("parent:before-check");
      // Compares the sequence, not the pointer: the child may have moved away and back
      // (WALK-12).
      if (parent && !child.seq.Changed(seq)) return parent;
    }
  }
}

DentryRef DentryCache::Parent(Dentry& child) {
  return ParentAnd(child, [] {});
}

std::pair<DentryRef, std::string> DentryCache::NameOf(Dentry& child) {
  std::string name(kNameMax, '\0');
  size_t length = 0;
  DentryRef parent = ParentAnd(child, [&] { length = child.CopyName(name.data()); });
  name.resize(length);
  return {std::move(parent), std::move(name)};
}

std::array<DentryRef, 16> DentryCache::DentriesOf(const icache::Inode& inode) {
  std::array<DentryRef, 16> found;
  size_t count = 0;
  uint64_t at = 0;
  do {
    at = table_.VisitInOrder(
        at,
        [&](Dentry& dentry) {
          if (dentry.inode.load(std::memory_order_relaxed) != &inode) return;
          if (count < found.size() && (found[count] = TryReference(&dentry))) ++count;
        },
        [] { return true; });
  } while (at != 0 && count < found.size());
  return found;
}

// False if the inode is a directory with another dentry.
bool DentryCache::BecomeAlias(icache::Inode& inode, Dentry* dentry) {
  if (IsRegular(inode)) {
    inode.alias.store(dentry, std::memory_order_release);  // pairs with AliasOf()
    return true;
  }
  if (!inode.is_directory()) return true;
  Dentry* none = nullptr;
  return inode.alias.compare_exchange_strong(none, dentry,
                                             std::memory_order_release,  // pairs with AliasOf()
                                             std::memory_order_relaxed);
}

DentryRef DentryCache::AliasOf(icache::Inode& inode) {
  DentryRef alias;
  if (!inode.is_directory() && !IsRegular(inode)) return alias;
  rcu::ReadGuard guard;
  Dentry* known = inode.alias.load(std::memory_order_acquire);  // pairs with BecomeAlias()
  if (known == nullptr) return alias;
  alias = TryReference(known);
  // A dying one is replaced; its memory is not reused during this section.
  if (!alias) inode.alias.compare_exchange_strong(known, nullptr, std::memory_order_relaxed);
  return alias;
}

DentryRef DentryCache::Insert(Dentry& parent, const Name& name, icache::InodeRef inode,
                              uint64_t verifier) {
  Dentry* own = Allocate(parent, name, inode.get(), verifier);
  if (own == nullptr) return {};
  parent.lockref.Get();
  DentryRef existing;
  bool taken = false;
  {
    auto chain = table_.Lock(name.hash);
    Dentry* there = chain.Find([&](const Dentry& d) { return Matches(d, &parent, name); });
    if (there != nullptr) existing = TryReference(there);
    if (!existing) {
      if (there != nullptr) {  // a dying dentry, which its destroyer has not dropped yet
        Unhash(chain, *there);
        there->seq.WriteEnd();
      }
      taken = inode && !BecomeAlias(*inode, own);
      if (!taken) chain.Insert(own);
    }
  }
  if (existing || taken) {
    own->inode.store(nullptr, std::memory_order_relaxed);
    own->hash.store(0, std::memory_order_relaxed);
    live_.fetch_sub(1, std::memory_order_relaxed);
    if (auto* text = own->long_name.exchange(nullptr, std::memory_order_relaxed)) {
      long_names_.FreeDeferred(text);
    }
    pool_.Free(own);
    Put(&parent);
    return existing;
  }
  inode.release();
  UpdatePressure();
  const size_t now = size(), limit = this->limit();
  if (now > limit) Prune(std::min(kPruneBatch, now - limit + 1));
  return {this, own};
}

// Removes a dentry from its locked chain and opens the write window of its sequence. Others that
// see it unhashed wait until the window closes: only the caller writes the sequence, and the dentry
// is not freed meanwhile.
void DentryCache::Unhash(Table::Chain& chain, Dentry& dentry) {
  // Before the dentry can be freed: a reader whose sample of the count validates has a live dentry.
  rcu::KeyedChangeCount::Change change(directory_changes_, ChangeKeyOf(dentry));
  dentry.seq.WriteBegin();
  chain.Remove(&dentry);
  dentry.hash.store(0, std::memory_order_relaxed);
  NFSWALK_SYNC_POINT("unhash:window-open");
}

bool DentryCache::TryUnhash(Dentry& dentry) {
  rcu::SpinWait wait;
  for (;;) {
    uint64_t hash = dentry.hash.load(std::memory_order_relaxed);
    if (hash == 0) {
      // Dropped. With the window open: being dropped, or moving to another chain.
      if (!dentry.seq.Changed(dentry.seq.Begin())) return false;
      NFSWALK_SYNC_POINT("dentry:wait-for-unhash");
      wait.Once();
      continue;
    }
    auto chain = table_.Lock(hash);
    if (dentry.hash.load(std::memory_order_relaxed) != hash) continue;
    Unhash(chain, dentry);
    return true;
  }
}

void DentryCache::Drop(Dentry& dentry) {
  if (TryUnhash(dentry)) dentry.seq.WriteEnd();
}

Below DentryCache::IsBelow(const Dentry& directory, const Dentry& dentry) const {
  const uint64_t renames = rename_seq_.Begin();
  const bool below = IsAncestor(directory, dentry);
  if (rename_seq_.Changed(renames)) return Below::kUnknown;
  return below ? Below::kYes : Below::kNo;
}

// Preconditions: the rename lock; or the caller validates `rename_seq_` afterwards.
bool DentryCache::IsAncestor(const Dentry& ancestor, const Dentry& dentry) {
  const Dentry* at = &dentry;
  for (;;) {
    if (at == &ancestor) return true;
    const Dentry* parent = at->parent.load(std::memory_order_relaxed);
    if (parent == at) return false;
    at = parent;
  }
}

std::errc DentryCache::Move(Dentry& dentry, Dentry& new_parent, const Name& new_name,
                            uint64_t verifier) {
  rcu::ByteString* text;
  if (!AllocateLongName(new_name, &text)) return std::errc::not_enough_memory;
  Dentry* old_parent;
  {
    std::lock_guard rename(rename_lock_);
    if (IsAncestor(dentry, new_parent)) {
      if (text != nullptr) long_names_.FreeDeferred(text);
      return std::errc::too_many_symbolic_link_levels;
    }
    new_parent.lockref.Get();
    rename_seq_.WriteBegin();
    old_parent = dentry.parent.load(std::memory_order_relaxed);
    LeaveChain(dentry);
    NFSWALK_SYNC_POINT("move:between-chains");
    dentry.parent.store(&new_parent, std::memory_order_relaxed);
    // Before it is hashed there: within one directory the old verifier may be a newer change id.
    dentry.verifier.store(verifier, std::memory_order_relaxed);
    SetName(dentry, new_name, text);
    {
      auto chain = table_.Lock(new_name.hash);
      Dentry* there =
          chain.Find([&](const Dentry& d) { return Matches(d, &new_parent, new_name); });
      if (there != nullptr) {
        Unhash(chain, *there);
        there->seq.WriteEnd();
      }
      dentry.hash.store(new_name.hash, std::memory_order_relaxed);
      chain.Insert(&dentry);
      dentry.seq.WriteEnd();
    }
    rename_seq_.WriteEnd();
  }
  Put(old_parent);
  return {};
}

// Opens the write window of a dentry that will move. A dropped one with references moves as well
// and is hashed again.
void DentryCache::LeaveChain(Dentry& dentry) {
  // Renames are serialized: a window that is open is that of a concurrent drop.
  if (!TryUnhash(dentry)) dentry.seq.WriteBegin();
}

// Preconditions: the dentry is locked and its count has just become zero.
void DentryCache::Retain(Dentry& dentry) {
  uint8_t state = dentry.lru_state.load(std::memory_order_relaxed);
  if ((state & kOnLru) != 0) {
    dentry.lru_state.store(kOnLru | kReferenced, std::memory_order_relaxed);
  } else {
    dentry.lru_state.store(kOnLru, std::memory_order_relaxed);
    lru_.Add(dentry);
  }
}

void DentryCache::MarkDontCache(Dentry& dentry) {
  dentry.lockref.Lock();
  // Used before if it is on the LRU; in use if others hold references.
  const bool fresh =
      dentry.lru_state.load(std::memory_order_relaxed) == 0 && dentry.lockref.count() == 1;
  if (fresh) dentry.lru_state.store(kNotCached, std::memory_order_relaxed);
  dentry.lockref.Unlock();
  icache::Inode* const inode = dentry.inode.load(std::memory_order_relaxed);
  if (fresh && inode != nullptr && inode->count.load(std::memory_order_relaxed) == 1) {
    icache::MarkDontCache(*inode);
  }
}

void DentryCache::Put(Dentry* dentry) {
  rcu::AssertMaySleep();
  while (dentry != nullptr) {
    {
      // Keeps the memory: another thread may destroy the dentry once this reference is dropped.
      rcu::ReadGuard guard;
      // Drops the count before reading lru_state: Prune() takes dentries in use off the LRU, and
      // may do so until the count is zero.
      const std::optional<uint32_t> left = dentry->lockref.TryPut();
      if (left.has_value()) {
        if (*left > 0) return;
        constexpr uint8_t kSettled = kOnLru | kReferenced;
        if (dentry->lru_state.load(std::memory_order_relaxed) == kSettled &&
            dentry->hash.load(std::memory_order_relaxed) != 0) {
          return;  // still cached, and marked already: nothing to write down
        }
        NFSWALK_SYNC_POINT("dentry-put:before-lock");
        dentry->lockref.Lock();
        if (dentry->lockref.count() != 0) {  // in use again, or destroyed by another
          dentry->lockref.Unlock();
          return;
        }
      } else {
        dentry->lockref.Lock();
        if (dentry->lockref.DecrementLocked() > 0) {
          dentry->lockref.Unlock();
          return;
        }
      }
      if (dentry->hash.load(std::memory_order_relaxed) != 0 &&
          (dentry->lru_state.load(std::memory_order_relaxed) & kNotCached) == 0) {
        Retain(*dentry);
        dentry->lockref.Unlock();
        return;
      }
      dentry->lockref.MarkDead();
      if ((dentry->lru_state.exchange(0, std::memory_order_relaxed) & kOnLru) != 0) {
        lru_.Remove(*dentry);
      }
      dentry->lockref.Unlock();
    }
    dentry = Destroy(dentry);
  }
}

Dentry* DentryCache::Destroy(Dentry* dentry) {
  NFSWALK_SYNC_POINT("dentry:dying");
  Drop(*dentry);
  NFSWALK_SYNC_POINT("dentry:destroy");
  // Also if it was unhashed before: an RCU-walk may have reached it by `..` from a child
  // (WALK-5).
  dentry->seq.WriteBegin();
  dentry->seq.WriteEnd();
  Dentry* parent = dentry->parent.load(std::memory_order_relaxed);
  // Leaves the inode pointer: a walker's copy of it is refused by seq.
  if (icache::Inode* inode = dentry->inode.load(std::memory_order_relaxed)) {
    Dentry* self = dentry;
    if (inode->is_directory() || IsRegular(*inode)) {
      inode->alias.compare_exchange_strong(self, nullptr, std::memory_order_relaxed);
    }
    icache::Put(inode);
  }
  if (auto* text = dentry->long_name.exchange(nullptr, std::memory_order_relaxed)) {
    long_names_.FreeDeferred(text);
  }
  live_.fetch_sub(1, std::memory_order_relaxed);
  pool_.FreeDeferred(dentry);
  UpdatePressure();
  return parent == dentry ? nullptr : parent;
}

void DentryCache::SetLimits(size_t dentries_max, size_t inodes_max) {
  limit_.store(dentries_max, std::memory_order_relaxed);
  pressure_at_.store(PressureAt(dentries_max, inodes_max), std::memory_order_relaxed);
  UpdatePressure();
}

void DentryCache::Trim() {
  pool_.Trim();
  long_names_.Trim();
}

size_t DentryCache::Prune(size_t count) {
  std::array<Dentry*, kPruneBatch> victims;
  size_t found = 0;
  lru_.Shrink(
      std::min(count, kPruneBatch),
      [](Dentry& dentry) {
        if (!dentry.lockref.TryLock()) return icache::LruVerdict::kSkip;
        icache::LruVerdict verdict = icache::LruVerdict::kReclaim;
        if (dentry.lockref.count() > 0) {
          dentry.lru_state.store(0, std::memory_order_relaxed);
          verdict = icache::LruVerdict::kRemove;
        } else if ((dentry.lru_state.load(std::memory_order_relaxed) & kReferenced) != 0) {
          dentry.lru_state.store(kOnLru, std::memory_order_relaxed);
          verdict = icache::LruVerdict::kRotate;
        } else {
          dentry.lru_state.store(0, std::memory_order_relaxed);
          dentry.lockref.MarkDead();
        }
        dentry.lockref.Unlock();
        return verdict;
      },
      [&](Dentry& dentry) { victims[found++] = &dentry; });
  for (size_t i = 0; i < found; ++i) Put(Destroy(victims[i]));
  return found;
}

void DentryCache::MarkUsed(Dentry& dentry) const {
  uint8_t state = kOnLru;
  // Marks only a dentry that is on the LRU; a lost race leaves it unmarked.
  dentry.lru_state.compare_exchange_strong(state, kOnLru | kReferenced, std::memory_order_relaxed);
}

void DentryCache::UpdatePressure() {
  bool pressed = size() > pressure_at_.load(std::memory_order_relaxed);
  if (pressed != under_pressure()) under_pressure_.store(pressed, std::memory_order_relaxed);
}

}  // namespace nfswalk::vfs
