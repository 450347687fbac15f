// access_entry: one credential's answer on an inode's list. Immutable once published; a new ACCESS
// reply makes a new entry.
//
// Internal to access_cache/. An entry is on its list, which RCU readers follow, and in its tree. It
// pins its credential until a grace period after it left both, so an address that compares equal is
// the same credential (ACCESS-11) and a reader never follows freed memory (WALK-25).
#ifndef NFSWALK_ACCESS_CACHE_ACCESS_ENTRY_H_
#define NFSWALK_ACCESS_CACHE_ACCESS_ENTRY_H_

#include <atomic>
#include <boost/intrusive/set_hook.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "access_cache/access_answer.h"
#include "rcu/defer.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::access_cache {

struct alignas(64) AccessEntry {
  using TreeHook =
      boost::intrusive::set_member_hook<boost::intrusive::optimize_size<true>,
                                        boost::intrusive::link_mode<boost::intrusive::normal_link>>;

  // For the pool: an unused object.
  AccessEntry() : AccessEntry({}, 0, 0) {}
  AccessEntry(sunrpc_auth::CredentialRef pinned, uint64_t epoch_and_rights, uint64_t granted_at)
      : credential(std::move(pinned)),
        answer(epoch_and_rights),
        granted_at_ns(granted_at),
        tree_hook() {}
  ~AccessEntry() {}

  std::optional<uint32_t> Rights(uint64_t current_epoch, AccessAge age) const {
    return RightsOf(answer, granted_at_ns, current_epoch, age);
  }

  const sunrpc_auth::CredentialRef credential;
  const uint64_t answer;  // access_answer.h
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

// Entries that left their list, to be freed once no lock is held.
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
