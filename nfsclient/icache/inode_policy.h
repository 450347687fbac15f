// inode_policy: the interchangeable locking policies of the inode cache (INODE-13).
//
// A hash policy is two orthogonal choices: what one chain lock covers, and whether the first lookup
// takes it. InodeCache::Create() builds a cache from them.
#ifndef NFSWALK_NFSCLIENT_ICACHE_INODE_POLICY_H_
#define NFSWALK_NFSCLIENT_ICACHE_INODE_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace nfswalk::icache {

// In the order of the names H0 to H8.
enum class HashPolicy : uint8_t {
  kGlobal,     // H0: one lock, first lookup locked
  kGlobalRcu,  // H1: one lock, first lookup under RCU
  kBit,        // H2: a lock in bit 0 of each chain head
  kBitRcu,     // H3
  kRealLock,   // H4: a real lock for each chain, for lock checking
  kArray,      // H5: kArrayLocks locks, each for a range of hashes
  kArrayRcu,   // H6
  kLfht,       // H7: liburcu's resizable lock-free table, lookup under RCU
  kIndex,      // H8: the file system's own index, lookup under RCU
};
inline constexpr size_t kHashPolicies = 9;
inline constexpr size_t kArrayLocks = 32;

enum class ListPolicy : uint8_t {
  kSingle,   // L0: one list, one lock
  kSharded,  // L1: a list and a lock for each processor
  kGrouped,  // L2: for each group of processors that share their last-level cache
  kNone,     // L3: no list; the file system iterates its own index
};
inline constexpr size_t kListPolicies = 4;
// Processors of one group. From so many threads on, bulkstat waits for one list's lock in the
// superblock iteration letter.
inline constexpr size_t kGroupCpusMax = 8;

enum class LruPolicy : uint8_t {
  kSingle,   // U0
  kSharded,  // U1
};
inline constexpr size_t kLruPolicies = 2;

struct InodePolicy {
  HashPolicy hash = HashPolicy::kBitRcu;
  ListPolicy list = ListPolicy::kSharded;
  LruPolicy lru = LruPolicy::kSharded;

  bool operator==(const InodePolicy&) const = default;
};

// PolicyName: mount option values ("bit_rcu", "sharded"). PolicyLabel: as in docs/inode_cache.md
// ("H3").
std::string_view PolicyName(HashPolicy policy);
std::string_view PolicyName(ListPolicy policy);
std::string_view PolicyName(LruPolicy policy);
std::string_view PolicyLabel(HashPolicy policy);
std::string_view PolicyLabel(ListPolicy policy);
std::string_view PolicyLabel(LruPolicy policy);
// "H3+L1+U1".
std::string PolicyLabel(const InodePolicy& policy);

// Accept names and labels. The error lists what is accepted.
std::expected<HashPolicy, std::string> ParseHashPolicy(std::string_view text);
std::expected<ListPolicy, std::string> ParseListPolicy(std::string_view text);
std::expected<LruPolicy, std::string> ParseLruPolicy(std::string_view text);
// "H3+L1+U1", or names: "bit_rcu+sharded+sharded".
std::expected<InodePolicy, std::string> ParseInodePolicy(std::string_view text);

// True if a hit takes no hash lock.
constexpr bool FirstLookupIsRcu(HashPolicy policy) {
  return policy == HashPolicy::kGlobalRcu || policy == HashPolicy::kBitRcu ||
         policy == HashPolicy::kArrayRcu || policy == HashPolicy::kLfht ||
         policy == HashPolicy::kIndex;
}

// Shards of LRUs, by the number of processors.
size_t ShardsForThisMachine();

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_POLICY_H_
