// lfht_table: liburcu's resizable lock-free hash table behind the interface of HashTable.
//
// Contract    FindRcu() as HashTable's, but that a node which stays is always found: nodes do not
//             move when the table grows. AddUnique() arbitrates among inserters without a lock.
// Data        liburcu's.
// Invariants  I1 at most one node for which no matching one was there when it was added.
// Protocol    locked: lock chain; look; insert. here: AddUnique() looks and inserts in one step.
// Ordering    liburcu's; annotated here for ThreadSanitizer, which does not see into the library:
//             O1 AddUnique() -> FindRcu(): a node that is found is complete.
// Progress    lock-free; the table is resized by a thread of liburcu's.
// Lifetime    nodes: the caller's, at least a grace period after Remove().
// Tests       tests/unit/rcu/lfht_table_test.cc, tests/race/inode_*_test.cc
#ifndef NFSWALK_RCU_LFHT_TABLE_H_
#define NFSWALK_RCU_LFHT_TABLE_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "rcu/lock_order.h"
#include "rcu/read_guard.h"
#include "rcu/tsan.h"
// Needs the flavour's header before it.
#include <urcu/rculfhash.h>

namespace nfswalk::rcu {

// Traits:
//   static cds_lfht_node& Link(Node&);
//   static Node& FromLink(cds_lfht_node&);
// The hash must be well mixed in its high bits; liburcu's table looks at the low ones first.
template <class Node, class Traits>
class LfhtTable {
 public:
  static constexpr bool kLockFree = true;

  // Throws std::bad_alloc.
  explicit LfhtTable(size_t initial_buckets)
      : table_(cds_lfht_new_flavor(std::bit_ceil(initial_buckets), 1, 0,
                                   CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, &urcu_memb_flavor,
                                   nullptr)) {
    if (table_ == nullptr) throw std::bad_alloc();
  }
  // The table must be empty. Not in a read-side section.
  ~LfhtTable() {
    AssertMaySleep();
    cds_lfht_destroy(table_, nullptr);
  }
  LfhtTable(const LfhtTable&) = delete;
  LfhtTable& operator=(const LfhtTable&) = delete;

  // A node with this hash for which match(Node&) is true, or nullptr. In a read section.
  template <class Match>
  Node* FindRcu(uint64_t hash, Match&& match) const {
    cds_lfht_iter found;
    cds_lfht_lookup(table_, Turned(hash), &Call<std::remove_reference_t<Match>>, &match, &found);
    cds_lfht_node* const link = cds_lfht_iter_get_node(&found);
    return link != nullptr ? &Traits::FromLink(*link) : nullptr;
  }

  // Inserts the node and returns nullptr, or returns the one that matches already. In a read
  // section.
  template <class Match>
  Node* AddUnique(uint64_t hash, Match&& match, Node* node) {
    cds_lfht_node* const link = &Traits::Link(*node);
    cds_lfht_node_init(link);
    tsan::Release(link);  // O1: pairs with Call()
    cds_lfht_node* const there = cds_lfht_add_unique(
        table_, Turned(hash), &Call<std::remove_reference_t<Match>>, &match, link);
    return there != link ? &Traits::FromLink(*there) : nullptr;
  }

  // HashTable's locked bucket; without mutual exclusion here. Preconditions: an RCU section.
  class [[nodiscard]] Chain {
   public:
    template <class Match>
    Node* Find(uint64_t hash, Match&& match) const {
      return table_->FindRcu(hash, match);
    }
    // Preconditions: the node is in the table; no concurrent Remove() of it.
    void Remove(Node* node) { cds_lfht_del(table_->table_, &Traits::Link(*node)); }

   private:
    friend class LfhtTable;
    explicit Chain(LfhtTable* table) : table_(table) {}
    LfhtTable* table_;
  };
  Chain Lock(uint64_t) { return Chain(this); }

  // Nodes in the table; exact without concurrent changes. Walks all of them.
  size_t size() const {
    ReadGuard guard;
    long before, after;
    unsigned long nodes;
    cds_lfht_count_nodes(table_, &before, &nodes, &after);
    return nodes;
  }

 private:
  static unsigned long Turned(uint64_t hash) { return std::rotl(hash, 32); }

  template <class Match>
  static int Call(cds_lfht_node* link, const void* match) {
    tsan::Acquire(link);  // O1: pairs with AddUnique()
    return (*static_cast<Match*>(const_cast<void*>(match)))(Traits::FromLink(*link)) ? 1 : 0;
  }

  cds_lfht* const table_;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_LFHT_TABLE_H_
