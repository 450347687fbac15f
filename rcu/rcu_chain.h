// rcu_chain: the head of an RCU hash chain: a pointer and two flag bits in one word.
//
// Contract    readers walk the chain inside a read-side section without a lock; changes need the
//             lock that guards the chain, wherever that is (chain_locks.h). A removed node keeps
//             its next pointer, so a reader on it reaches the rest of the chain.
// Data        head_ = pointer | moved (bit 1) | locked (bit 0, owned by BitLockChain); Next(node):
//             written under the lock. Node pointers never carry bits.
//             companion_ (optional) = address | 16 bits of the first node's hash: the object
//             that a reader of that node reads next. Only prefetched, together with the node, so
//             that a stale value is harmless.
// Invariants  I1 moved is never cleared: the nodes are in another table, this chain stays empty.
// Protocol    locked: lock; for (n = head; n; n = n->next); unlock.
//             here:   read section; for (n = FirstRcu(); n; n = NextRcu(*n)).
// Ordering    O1 InsertHead()/Remove() release -> FirstRcu(), NextRcu() acquire: a reader that sees
//                a node sees it initialised. InsertHead() does so in the node as well: a reader
//                that stands on it since it was in another chain goes on to the nodes behind it.
//             O2 MarkMoved() release -> moved() acquire: a reader of the mark sees the new table.
// Staleness   a reader may miss a node that is being moved to another chain: a miss is not
//             authoritative.
// Progress    as long as the chain.
// Lifetime    nodes are freed a grace period after Remove(), or live in type-stable memory.
// Tests       tests/unit/rcu/chain_locks_test.cc, tests/race/rcu_locks_race_test.cc,
//             tests/litmus/chains_litmus_test.cc
#ifndef NFSWALK_RCU_RCU_CHAIN_H_
#define NFSWALK_RCU_RCU_CHAIN_H_

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace nfswalk::rcu {

// Traits: static std::atomic<Node*>& Next(Node&). alignof(Node) >= 4. Optional:
//   static const void* Companion(const Node&);  // a relaxed load, under the lock; may be null
//   static constexpr size_t kCompanionBytes;
//   static uint64_t Hash(const Node&);  // with a companion; its bits 8 to 23 well mixed
template <class Node, class Traits>
class RcuChain {
 public:
  RcuChain() = default;
  RcuChain(const RcuChain&) = delete;
  RcuChain& operator=(const RcuChain&) = delete;

  // Readers, in a read-side section.
  Node* FirstRcu() const {
    return Pointer(head_.load(std::memory_order_acquire));  // O1: pairs with InsertHead(), Remove()
  }
  static Node* NextRcu(Node& node) {
    return Traits::Next(node).load(std::memory_order_acquire);  // O1: InsertHead(), Remove()
  }
  // Prefetches what the node of this hash will be read with, if it is the first.
  void PrefetchCompanion(uint64_t hash) const {
    if constexpr (kHasCompanion) {
      const uint64_t word = companion_.load(std::memory_order_relaxed);
      if (((word ^ TagOf(hash)) >> kAddressBits) != 0) return;
      const uintptr_t at = word & kAddressMask;
      for (size_t byte = 0; byte < Traits::kCompanionBytes; byte += kCacheLineBytes) {
        __builtin_prefetch(reinterpret_cast<const void*>(at + byte));
      }
    }
  }
  bool moved() const {
    return (head_.load(std::memory_order_acquire) & kMoved) != 0;  // O2: pairs with MarkMoved()
  }

  // The rest needs the lock, or a chain no other thread can reach yet.
  Node* First() const { return Pointer(head_.load(std::memory_order_relaxed)); }
  static Node* Next(Node& node) { return Traits::Next(node).load(std::memory_order_relaxed); }

  void InsertHead(Node* node) {
    assert(!moved());
    // A reader may stand on the node, which was in another chain. O1: pairs with NextRcu()
    Traits::Next(*node).store(First(), std::memory_order_release);
    SetFirst(node);
  }

  // Precondition: `node` is in this chain. Costs a walk to it.
  void Remove(Node* node) {
    Node* const next = Next(*node);
    Node* previous = First();
    if (previous == node) return SetFirst(next);
    while (Next(*previous) != node) previous = Next(*previous);
    Traits::Next(*previous).store(next, std::memory_order_release);  // O1: pairs with NextRcu()
  }

  // Empties the chain for good and sends everybody to the new table.
  void MarkMoved() {
    head_.store((head_.load(std::memory_order_relaxed) & kLocked) | kMoved,
                std::memory_order_release);  // O2: pairs with moved()
  }

 protected:
  static constexpr uintptr_t kLocked = 1;

  std::atomic<uintptr_t> head_{0};

 private:
  static constexpr uintptr_t kMoved = 2;
  static constexpr size_t kCacheLineBytes = 64;
  static constexpr int kAddressBits = 48;
  static constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;
  static constexpr bool kHasCompanion = requires(const Node& node) { Traits::Companion(node); };
  struct None {};

  static Node* Pointer(uintptr_t head) {
    return reinterpret_cast<Node*>(head & ~(kLocked | kMoved));
  }

  // The bits next to the low 8, which hashes may use for something else, where no address has any.
  static uint64_t TagOf(uint64_t hash) { return (hash << (kAddressBits - 8)) & ~kAddressMask; }
  // 0: none, which one hash in 65,536 prefetches for nothing.
  static uint64_t CompanionWord(const Node* node) {
    const void* const companion = node != nullptr ? Traits::Companion(*node) : nullptr;
    if (companion == nullptr) return 0;
    return (reinterpret_cast<uintptr_t>(companion) & kAddressMask) | TagOf(Traits::Hash(*node));
  }

  void SetFirst(Node* node) {
    static_assert(alignof(Node) >= 4);
    const uintptr_t bits = head_.load(std::memory_order_relaxed) & (kLocked | kMoved);
    head_.store(reinterpret_cast<uintptr_t>(node) | bits,
                std::memory_order_release);  // O1: pairs with FirstRcu()
    if constexpr (kHasCompanion) {
      companion_.store(CompanionWord(node), std::memory_order_relaxed);
    }
  }

  [[no_unique_address]] std::conditional_t<kHasCompanion, std::atomic<uint64_t>, None> companion_{};
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_RCU_CHAIN_H_
