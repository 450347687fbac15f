// inode_calls: every entry point of the inode cache that looks an inode up by its identity.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_ICACHE_INODE_CALLS_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_ICACHE_INODE_CALLS_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "nfsclient/icache/iget_family.h"
#include "tests/fixtures/inode_caches.h"

namespace nfswalk::icache {

enum class Got : uint8_t { kNothing, kThere, kFresh, kStale, kNoMemory, kSetFailed, kBusy };

struct Answer {
  Got got = Got::kNothing;
  const Inode* inode = nullptr;
  bool operator==(const Answer&) const = default;
};
inline void PrintTo(const Answer& answer, std::ostream* out) {
  *out << "answer " << static_cast<int>(answer.got) << " inode " << answer.inode;
}

// Completes an inode that was created, and keeps no reference.
inline Answer AnswerOf(IgetFamily& cache, IgetResult result) {
  if (!result) {
    switch (result.error()) {
      case InodeError::kStale:
        return {Got::kStale};
      case InodeError::kNoMemory:
        return {Got::kNoMemory};
      case InodeError::kSetFailed:
        return {Got::kSetFailed};
      case InodeError::kBusy:
        return {Got::kBusy};
    }
  }
  if (!result->is_new) return {Got::kThere, result->inode.get()};
  cache.UnlockNew(*result->inode);
  return {Got::kFresh, result->inode.get()};
}
inline Answer AnswerOf(IgetFamily&, const InodeRef& inode) {
  return inode ? Answer{Got::kThere, inode.get()} : Answer{};
}

struct Call {
  std::string name;
  bool creates;
  bool waits_for_new;
  Answer (*ask)(IgetFamily&, uint64_t hash, KeyIdentity&, uint64_t key);

  Answer make(IgetFamily& cache, uint64_t key) const {
    KeyIdentity identity(key);
    return ask(cache, cache.HashOf(key), identity, key);
  }
};

// A row of AllCalls(); `call` may use `hash`, `identity` and `key`.
#define NFSWALK_INODE_CALL(name, creates, waits, call)                            \
  Call {                                                                          \
    name, creates, waits,                                                         \
        [](IgetFamily& cache, [[maybe_unused]] uint64_t hash,                     \
           [[maybe_unused]] KeyIdentity& identity,                                \
           [[maybe_unused]] uint64_t key) { return AnswerOf(cache, cache.call); } \
  }

inline const std::vector<Call>& AllCalls() {
  static const std::vector<Call> calls = {
      NFSWALK_INODE_CALL("Iget", true, true, Iget(key)),
      NFSWALK_INODE_CALL("Iget5", true, true, Iget5(hash, identity)),
      NFSWALK_INODE_CALL("Iget5Rcu", true, true, Iget5Rcu(hash, identity)),
      NFSWALK_INODE_CALL("Insert5", true, true, Insert5(cache.NewInode(), hash, identity)),
      NFSWALK_INODE_CALL("Ilookup", false, true, Ilookup(key)),
      NFSWALK_INODE_CALL("Ilookup5", false, true, Ilookup5(hash, identity)),
      NFSWALK_INODE_CALL("Ilookup5Rcu", false, true, Ilookup5Rcu(hash, identity)),
      NFSWALK_INODE_CALL("Ilookup5NoWait", false, false, Ilookup5NoWait(hash, identity)),
      NFSWALK_INODE_CALL("Ilookup5NoWaitRcu", false, false, Ilookup5NoWaitRcu(hash, identity)),
  };
  return calls;
}
#undef NFSWALK_INODE_CALL

}  // namespace nfswalk::icache

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_ICACHE_INODE_CALLS_H_
