// access_entry: what the server allowed one credential to do with one inode. Immutable once
// published; another answer of the server is another entry.
//
// Internal to access_cache/. An entry is on its cache's list, which RCU readers follow, and in its
// cache's tree. It pins its credential until a grace period after it left both, so an address that
// compares equal is the same credential (nfs_semantics 4.4) and a reader never follows freed
// memory (bug 18 there).
#ifndef NFSWALK_ACCESS_CACHE_ACCESS_ENTRY_H_
#define NFSWALK_ACCESS_CACHE_ACCESS_ENTRY_H_

#include <atomic>
#include <boost/intrusive/set_hook.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "rcu/defer.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::access_cache {

// When the question is asked, and for how long an answer of the server holds. CLOCK_MONOTONIC.
struct AccessAge {
  uint64_t now_ns;
  uint64_t lifetime_ns;
};

struct alignas(64) AccessEntry {
  using TreeHook =
      boost::intrusive::set_member_hook<boost::intrusive::optimize_size<true>,
                                        boost::intrusive::link_mode<boost::intrusive::normal_link>>;

  // Server bits and epoch share a word: 56 bits of epoch do not wrap in anybody's lifetime.
  static constexpr unsigned kRightsBits = 8;
  static constexpr uint32_t kRightsMask = (1u << kRightsBits) - 1;

  // For the pool: an unused object.
  AccessEntry() : AccessEntry({}, 0, 0, 0) {}
  AccessEntry(sunrpc_auth::CredentialRef pinned, uint32_t granted, uint64_t granted_at,
              uint64_t epoch)
      : credential(std::move(pinned)),
        epoch_and_rights(epoch << kRightsBits | (granted & kRightsMask)),
        granted_at_ns(granted_at),
        tree_hook() {}
  ~AccessEntry() {}

  uint64_t epoch() const { return epoch_and_rights >> kRightsBits; }
  uint32_t rights() const { return static_cast<uint32_t>(epoch_and_rights & kRightsMask); }

  // The rights, if the entry is of `current_epoch` and granted_at <= now < granted_at + lifetime.
  // The one judgement behind every lookup, so that they cannot disagree (nfs_semantics bug 15).
  std::optional<uint32_t> Rights(uint64_t current_epoch, AccessAge age) const {
    if (epoch() != current_epoch || age.now_ns < granted_at_ns ||
        age.now_ns - granted_at_ns >= age.lifetime_ns) {
      return std::nullopt;
    }
    return rights();
  }

  const sunrpc_auth::CredentialRef credential;
  const uint64_t epoch_and_rights;
  const uint64_t granted_at_ns;
  // Kept when the entry leaves, for readers that stand on it.
  std::atomic<AccessEntry*> older{nullptr};
  // Under the cache lock; links dropped entries once out of the list.
  AccessEntry* newer = nullptr;
  union {
    TreeHook tree_hook;         // while in the tree
    rcu::DeferHead defer_head;  // afterwards
  };
};
static_assert(sizeof(AccessEntry) == 64);

// Entries that left their cache, to be freed once no lock is held.
struct DroppedEntries {
  AccessEntry* first = nullptr;
  size_t count = 0;

  void Push(AccessEntry& entry) {
    entry.newer = first;
    first = &entry;
    ++count;
  }
};

}  // namespace nfswalk::access_cache

#endif  // NFSWALK_ACCESS_CACHE_ACCESS_ENTRY_H_
