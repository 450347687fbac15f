// hash_table: an RCU hash table that grows a few buckets at a time.
//
// Contract    FindRcu() takes no lock and stores nothing. A node that stays in the table is found,
//             except by a lookup that overlaps with the move of that node (its own removal and
//             re-insertion, or growth): a miss proves nothing. Chain::Find() under the lock is
//             exact.
// Data        table_: pointer to heads | shift (low 6 bits), replaced when a growth ends.
//             Table::next: set once, when growth begins. Heads: see bit_lock_chain.
// Invariants  I1 a node is in exactly one chain: of the newest table if its old bucket is marked
//             moved, else of the old one. I2 the group b of a table of n becomes 2b and 2b+1 of
//             the next, of 2n; a bucket keeps its slot in the group. I3 the two buckets that
//             replace b are unreachable until b is marked moved. I4 no third table exists before
//             every bucket of the first has moved.
// Protocol    locked: lock(bucket); walk; unlock.
//             here:   walk the bucket; on a miss, if it is marked moved, walk the next table's.
// Ordering    O1 StartGrowth() release -> TableRef::Next() acquire, of Table::next; before any
//                bucket is marked moved.
//             O2 FinishGrowth() release -> Current() acquire, of table_.
// Staleness   a reader on a node that moves continues in its new chain and may miss the rest.
// Progress    FindRcu() follows a node at most once per move of it. Each release of a chain after
//             an insert moves up to kBucketsPerInsert buckets; it gives up if one is locked.
// Lifetime    an old table is freed a grace period after it was replaced. Nodes: the caller's, at
//             least a grace period after Remove().
// Tests       tests/unit/rcu/hash_table_test.cc, tests/race/rcu_hash_table_race_test.cc
#ifndef NFSWALK_RCU_HASH_TABLE_H_
#define NFSWALK_RCU_HASH_TABLE_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "rcu/chain_locks.h"
#include "rcu/counters.h"
#include "rcu/defer.h"
#include "rcu/page_region.h"
#include "rcu/read_guard.h"
#include "rcu/spin_lock.h"
#include "rcu/sync_point.h"

namespace nfswalk::rcu {

// Traits:
//   static std::atomic<Node*>& Next(Node&);
//   static uint64_t Hash(const Node&);  // a relaxed load; changes only while in no chain
//   static constexpr int kSlotBits;     // optional, see below
//   Companion(), kCompanionBytes        // optional, see rcu_chain.h
// The hash must be well mixed above its low 8 bits, which may hold something else; buckets are
// chosen by its highest bits.
//
// With kSlotBits = n, groups of 2^n neighbouring buckets are chosen by the highest bits, and the
// bucket in its group by bits 1 to n, which must be well mixed too. Keys that are used together, if
// hashed to one group and evenly to its buckets, share a cache line of heads.
// Locks: which lock guards which bucket, see chain_locks.h.
template <class Node, class Traits, class Locks = ChainLocks<>>
class HashTable {
  using Head = typename Locks::template Head<Node, Traits>;
  struct Table;
  static constexpr int kSlotBits = [] {
    if constexpr (requires { Traits::kSlotBits; }) {
      return Traits::kSlotBits;
    } else {
      return 0;
    }
  }();
  static constexpr uint64_t kSlotMask = (uint64_t{1} << kSlotBits) - 1;

 public:
  // Whether changes exclude each other without a lock.
  static constexpr bool kLockFree = false;

  // Doubles when there are more than `max_load` nodes a bucket. `initial_buckets` is rounded up to
  // a power of two, at least 2 and one a lock; the table never shrinks. `lock_arguments` are those
  // of Locks. Throws std::bad_alloc.
  template <class... LockArguments>
  explicit HashTable(size_t initial_buckets = 1024, size_t max_load = 1,
                     LockArguments... lock_arguments);
  // The table must be empty of interest: nodes are left as they are. No concurrent use.
  ~HashTable();
  HashTable(const HashTable&) = delete;
  HashTable& operator=(const HashTable&) = delete;

  // The first node with this hash for which match(Node&) is true, or nullptr. In a read section.
  // match decides under the node's own rules (sequence count); the node may leave the table
  // meanwhile.
  template <class Match>
  [[gnu::always_inline]] Node* FindRcu(uint64_t hash, Match&& match) const {
    TableRef table = Current();
    for (;;) {
      const Head& head = table.HeadFor(hash);
      head.PrefetchCompanion(hash);
      for (Node* node = head.FirstRcu(); node != nullptr; node = Head::NextRcu(*node)) {
        NFSWALK_SYNC_POINT("hash_table:search-step");
        if (Traits::Hash(*node) == hash && match(*node)) return node;
      }
      if (!head.moved()) [[likely]]
        return nullptr;
      table = table.Next();
    }
  }

  // Fetches the head of the bucket of `hash`, and, later, its first node into the processor's cache
  // for a lookup that follows. The second in a read section.
  void PrefetchHead(uint64_t hash) const { __builtin_prefetch(&Current().HeadFor(hash)); }
  void PrefetchFirst(uint64_t hash) const { PrefetchFirst(Current().HeadFor(hash)); }

  // A locked bucket. Lock() returns it; its destructor unlocks, and moves a few buckets if the
  // table is growing.
  class [[nodiscard]] Chain {
   public:
    Chain(Chain&& other) noexcept
        : table_(other.table_),
          head_(std::exchange(other.head_, nullptr)),
          hash_(other.hash_),
          inserted_(other.inserted_) {}
    Chain& operator=(Chain&&) = delete;
    ~Chain() { Unlock(); }

    // Before the end of the scope; afterwards the chain must not be used.
    void Unlock() {
      if (head_ == nullptr) return;
      Head* const head = std::exchange(head_, nullptr);
      // A lock of many buckets moves them while it is held, instead of being taken once more.
      if constexpr (Locks::kShared) {
        if (inserted_) table_->AfterInsert(hash_);
        table_->locks_.Unlock(*head, hash_);
      } else {
        table_->locks_.Unlock(*head, hash_);
        if (inserted_) table_->AfterInsert(hash_);
      }
    }

    // As FindRcu(), but exact. Only nodes of the hash given to Lock() are in question.
    template <class Match>
    Node* Find(uint64_t hash, Match&& match) const {
      AssertLocked();
      for (Node* node = head_->First(); node != nullptr; node = Head::Next(*node)) {
        if (Traits::Hash(*node) == hash && match(*node)) return node;
      }
      return nullptr;
    }
    // As above; match alone decides, also about the hash.
    template <class Match>
    Node* Find(Match&& match) const {
      AssertLocked();
      for (Node* node = head_->First(); node != nullptr; node = Head::Next(*node)) {
        if (match(*node)) return node;
      }
      return nullptr;
    }
    // At the head; readers may find it at once. Precondition: Traits::Hash(*node) belongs to this
    // bucket, the node is in no chain.
    void Insert(Node* node) {
      AssertLocked();
      head_->InsertHead(node);
      inserted_ = true;
    }
    // Precondition: the node is in this chain. Leaves its next pointer intact.
    void Remove(Node* node) {
      AssertLocked();
      head_->Remove(node);
      table_->nodes_.Subtract(1);
    }

   private:
    friend class HashTable;
    Chain(HashTable* table, Head* head, uint64_t hash) : table_(table), head_(head), hash_(hash) {}

    // Debug check only: by this thread.
    void AssertLocked() const {
      assert(head_ != nullptr);
      table_->locks_.AssertHeld(*head_, hash_);
    }

    HashTable* table_;
    Head* head_;     // nullptr: unlocked, moved from, or the same bucket as its twin in LockTwo()
    uint64_t hash_;  // one of this bucket
    bool inserted_ = false;
  };

  // Locks the bucket that holds all nodes of `hash`.
  Chain Lock(uint64_t hash) {
    return Chain(this, LockAuthority(hash, /*held=*/nullptr).head, hash);
  }

  // Two buckets for a move from one hash to another. `second` is absent if both are one bucket;
  // then use `first` for both, as ForSecond() does.
  struct TwoChains {
    Chain first;
    Chain second;
    Chain& ForFirst() { return first; }
    Chain& ForSecond() { return second.head_ != nullptr ? second : first; }
  };
  [[nodiscard]] TwoChains LockTwo(uint64_t first, uint64_t second) requires(!Locks::kShared);

  // Nodes in the table; exact without concurrent changes.
  size_t size() const;
  // Buckets of the newest table.
  size_t bucket_count() const;
  bool growing() const;

  // Calls visit(Node&) for each node of one bucket, the one that `hash` belongs to, under its lock,
  // and of the buckets after it as long as they share the lock and more() is true. Returns the hash
  // to go on with, or 0 if that was the end. Going on from there until 0 visits every node that
  // stays in the table meanwhile exactly once, also while the table grows: a bucket is a range of
  // hashes of one slot, and later ones only divide it.
  template <class Visit, class More>
  uint64_t VisitInOrder(uint64_t hash, Visit&& visit, More&& more);

  const Locks& locks() const { return locks_; }

 private:
  static constexpr size_t kBucketsPerInsert = 4;

  // Lies in front of its heads, in the same area of a PageRegion.
  struct alignas(64) Table {
    std::atomic<uintptr_t> next{0};  // TableRef word
    size_t bucket_count;
    DeferHead defer_head;
  };

  // A table and its shift in one word, so that a lookup loads one pointer before the head.
  class TableRef {
   public:
    explicit TableRef(uintptr_t word) : word_(word) {}
    explicit operator bool() const { return word_ != 0; }
    uintptr_t word() const { return word_; }
    Head* heads() const { return reinterpret_cast<Head*>(word_ & ~kShiftMask); }
    Table& table() const { return reinterpret_cast<Table*>(word_ & ~kShiftMask)[-1]; }
    int shift() const { return static_cast<int>(word_ & kShiftMask); }
    Head& HeadFor(uint64_t hash) const {
      return heads()[((hash >> shift()) << kSlotBits) | SlotOf(hash)];
    }
    TableRef Next() const {
      return TableRef(
          table().next.load(std::memory_order_acquire));  // O1: pairs with StartGrowth()
    }

   private:
    static constexpr uintptr_t kShiftMask = 63;
    uintptr_t word_;
  };

  // Prefetches what a walk of the chain reads first.
  static void PrefetchFirst(const Head& head) {
    if (Node* const node = head.FirstRcu()) __builtin_prefetch(&Traits::Next(*node));
  }
  static uint64_t SlotOf(uint64_t hash) { return (hash >> 1) & kSlotMask; }
  // The lowest hash of a bucket.
  static uint64_t HashOfBucket(size_t bucket, TableRef table) {
    return (uint64_t{bucket >> kSlotBits} << table.shift()) | (bucket & kSlotMask) << 1;
  }
  // The hash of the bucket after the one of `hash`: in the same slot if there is one. 0 at the end.
  static uint64_t NextInOrder(uint64_t hash, TableRef table) {
    const uint64_t group = ((hash >> table.shift()) + 1) << table.shift();
    if (group != 0) return group | SlotOf(hash) << 1;
    return SlotOf(hash) < kSlotMask ? (SlotOf(hash) + 1) << 1 : 0;
  }

  // A locked bucket and the table it is in.
  struct Authority {
    Head* head;
    TableRef table;
  };

  // Heads are uninitialised. A null reference if there is no memory.
  static TableRef MapTable(size_t buckets);
  static void FreeTable(DeferHead* head);

  TableRef Current() const {
    return TableRef(table_.load(std::memory_order_acquire));  // O2: pairs with FinishGrowth()
  }
  // Its head is nullptr if that is `held`, a bucket the caller has locked already (or nullptr).
  Authority LockAuthority(uint64_t hash, const Head* held);
  void AfterInsert(uint64_t hash);
  bool MoveNextBucket(TableRef old_table, TableRef new_table, uint64_t held_hash);
  bool Overloaded(size_t nodes, TableRef table) const {
    return nodes / max_load_ > table.table().bucket_count;
  }
  void StartGrowth(TableRef old_table);
  void MoveBucket(TableRef old_table, TableRef new_table, size_t bucket);
  void FinishGrowth(TableRef old_table, TableRef new_table);

  const size_t max_load_;
  Locks locks_;
  std::atomic<uintptr_t> table_;
  SpinLock growth_lock_;      // serialises growth; only ever tried
  size_t moved_buckets_ = 0;  // of the current table; under growth_lock_
  ShardedCounter nodes_;
};

template <class Node, class Traits, class Locks>
template <class... LockArguments>
HashTable<Node, Traits, Locks>::HashTable(size_t initial_buckets, size_t max_load,
                                          LockArguments... lock_arguments)
    : max_load_(max_load), locks_(lock_arguments...) {
  const TableRef table = MapTable(
      std::bit_ceil(std::max(initial_buckets, std::max(size_t{2}, locks_.size()) << kSlotBits)));
  if (!table) throw std::bad_alloc();
  for (size_t i = 0; i < table.table().bucket_count; ++i) std::construct_at(&table.heads()[i]);
  table_.store(table.word(), std::memory_order_relaxed);
}

template <class Node, class Traits, class Locks>
HashTable<Node, Traits, Locks>::~HashTable() {
  const TableRef table = Current();
  if (const TableRef next = table.Next()) PageRegion::Unmap(&next.table());
  PageRegion::Unmap(&table.table());
}

template <class Node, class Traits, class Locks>
auto HashTable<Node, Traits, Locks>::MapTable(size_t buckets) -> TableRef {
  void* const area = PageRegion::Map(sizeof(Table) + buckets * sizeof(Head), alignof(Table));
  if (area == nullptr) return TableRef(0);
  auto* const table = ::new (area) Table;
  table->bucket_count = buckets;
  const auto shift = static_cast<uintptr_t>(64 + kSlotBits - std::countr_zero(buckets));
  return TableRef(reinterpret_cast<uintptr_t>(table + 1) | shift);
}

template <class Node, class Traits, class Locks>
void HashTable<Node, Traits, Locks>::FreeTable(DeferHead* head) {
  PageRegion::Unmap(reinterpret_cast<char*>(head) - offsetof(Table, defer_head));
}

template <class Node, class Traits, class Locks>
auto HashTable<Node, Traits, Locks>::LockAuthority(uint64_t hash, const Head* held) -> Authority {
  ReadGuard tables_stay;  // until the lock is held: a table with an unmoved bucket is not replaced
  for (TableRef table = Current();; table = table.Next()) {
    Head& head = table.HeadFor(hash);
    if (&head == held) return {nullptr, table};
    if (head.moved()) continue;
    if (held == nullptr) {
      locks_.Lock(head, hash);
    } else if constexpr (!Locks::kShared) {
      locks_.LockNested(head, hash);
    }
    if (!head.moved()) return {&head, table};
    locks_.Unlock(head, hash);
  }
}

template <class Node, class Traits, class Locks>
auto HashTable<Node, Traits, Locks>::LockTwo(uint64_t first, uint64_t second) -> TwoChains
    requires(!Locks::kShared) {
  static_assert(kSlotBits == 0);
  // Lower hash first. Held buckets are unmoved, so the ranges of hashes they stand for are disjoint
  // whatever their tables, and everybody waits for a higher range than he holds. A bucket found
  // moved is let go at once, before waiting for another.
  const bool swap = second < first;
  Head* const low = LockAuthority(swap ? second : first, /*held=*/nullptr).head;
  NFSWALK_SYNC_POINT("hash_table:first-of-two-locked");
  Head* const high = LockAuthority(swap ? first : second, low).head;
  Chain low_chain(this, low, swap ? second : first);
  Chain high_chain(this, high, swap ? first : second);
  if (swap && high != nullptr) return {std::move(high_chain), std::move(low_chain)};
  return {std::move(low_chain), std::move(high_chain)};
}

template <class Node, class Traits, class Locks>
template <class Visit, class More>
uint64_t HashTable<Node, Traits, Locks>::VisitInOrder(uint64_t hash, Visit&& visit, More&& more) {
  ReadGuard tables_stay;
  const Authority first = LockAuthority(hash, /*held=*/nullptr);
  Head* head = first.head;
  TableRef table = first.table;
  uint64_t next;
  for (;;) {
    for (Node* node = head->First(); node != nullptr; node = Head::Next(*node)) visit(*node);
    next = NextInOrder(hash, table);
    if constexpr (Locks::kShared) {
      if (next != 0 && locks_.SameLock(next, hash) && more()) {
        hash = next;
        // No bucket of this lock moves now; where this one is, is a matter of at most two tables.
        for (table = Current(); table.HeadFor(hash).moved();) table = table.Next();
        head = &table.HeadFor(hash);
        continue;
      }
    }
    locks_.Unlock(*head, hash);
    return next;
  }
}

template <class Node, class Traits, class Locks>
size_t HashTable<Node, Traits, Locks>::size() const {
  return static_cast<size_t>(std::max<int64_t>(nodes_.Sum(), 0));
}

template <class Node, class Traits, class Locks>
size_t HashTable<Node, Traits, Locks>::bucket_count() const {
  ReadGuard tables_stay;
  const TableRef table = Current();
  const TableRef next = table.Next();
  return (next ? next : table).table().bucket_count;
}

template <class Node, class Traits, class Locks>
bool HashTable<Node, Traits, Locks>::growing() const {
  ReadGuard tables_stay;
  return static_cast<bool>(Current().Next());
}

// Only tries locks, since the caller may hold other chains. The nodes of all threads are summed
// only each time this thread's own number has grown by a fraction of the table.
template <class Node, class Traits, class Locks>
void HashTable<Node, Traits, Locks>::AfterInsert(uint64_t hash) {
  const uint64_t own = nodes_.Add(1);
  ReadGuard tables_stay;
  const TableRef table = Current();
  if (!table.Next()) [[likely]] {
    const uint64_t step = std::clamp<uint64_t>(table.table().bucket_count / 64, 1, 256);
    if ((own & (step - 1)) != 0 || !Overloaded(size(), table)) [[likely]]
      return;
  }
  std::unique_lock growing(growth_lock_, std::try_to_lock);
  if (!growing.owns_lock() || Current().word() != table.word()) return;
  if (!table.Next()) StartGrowth(table);
  const TableRef next = table.Next();
  if (!next) return;
  for (size_t i = 0; i < kBucketsPerInsert && moved_buckets_ < table.table().bucket_count; ++i) {
    if (!MoveNextBucket(table, next, hash)) return;
  }
  if (moved_buckets_ == table.table().bucket_count) FinishGrowth(table, next);
  // The next insert moves these buckets.
  const size_t end = std::min(moved_buckets_ + kBucketsPerInsert, table.table().bucket_count);
  for (size_t i = moved_buckets_; i < end; ++i) PrefetchFirst(table.heads()[i]);
}

// False if its lock is not to be had. A shared lock is the caller's already if it is that of
// `held_hash`.
template <class Node, class Traits, class Locks>
bool HashTable<Node, Traits, Locks>::MoveNextBucket(TableRef old_table, TableRef new_table,
                                                    uint64_t held_hash) {
  const uint64_t hash = HashOfBucket(moved_buckets_, old_table);
  Head& head = old_table.heads()[moved_buckets_];
  bool held = false;
  if constexpr (Locks::kShared) held = locks_.SameLock(hash, held_hash);
  if (!held && !locks_.TryLock(head, hash)) return false;
  MoveBucket(old_table, new_table, moved_buckets_);
  if (!held) locks_.Unlock(head, hash);
  ++moved_buckets_;
  return true;
}

template <class Node, class Traits, class Locks>
void HashTable<Node, Traits, Locks>::StartGrowth(TableRef old_table) {
  const TableRef next = MapTable(old_table.table().bucket_count * 2);
  if (!next) return;  // stay as we are: chains get longer, nothing fails
  moved_buckets_ = 0;
  old_table.table().next.store(next.word(), std::memory_order_release);  // O1: pairs with Next()
  NFSWALK_SYNC_POINT("hash_table:growth-started");
}

// Under the lock of the old bucket; the two new ones are unreachable until the mark (I3).
template <class Node, class Traits, class Locks>
void HashTable<Node, Traits, Locks>::MoveBucket(TableRef old_table, TableRef new_table,
                                                size_t bucket) {
  Head& from = old_table.heads()[bucket];
  const size_t slot = bucket & kSlotMask;
  const size_t first = 2 * (bucket - slot) + slot;
  std::construct_at(&new_table.heads()[first]);
  std::construct_at(&new_table.heads()[first + kSlotMask + 1]);
  for (Node* node = from.First(); node != nullptr;) {
    Node* const next = Head::Next(*node);
    new_table.HeadFor(Traits::Hash(*node)).InsertHead(node);
    NFSWALK_SYNC_POINT("hash_table:node-moved");
    node = next;
  }
  from.MarkMoved();
}

template <class Node, class Traits, class Locks>
void HashTable<Node, Traits, Locks>::FinishGrowth(TableRef old_table, TableRef new_table) {
  table_.store(new_table.word(), std::memory_order_release);  // O2: pairs with Current()
  moved_buckets_ = 0;
  Defer(&old_table.table().defer_head, &FreeTable);
}

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_HASH_TABLE_H_
