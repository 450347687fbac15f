// inode_table: the hash tables of the inode cache's policies; all have one interface.
#ifndef NFSWALK_NFSCLIENT_ICACHE_INODE_TABLE_H_
#define NFSWALK_NFSCLIENT_ICACHE_INODE_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "nfsclient/icache/inode.h"
#include "nfsclient/icache/inode_policy.h"
#include "rcu/chain_locks.h"
#include "rcu/hash_table.h"
#include "rcu/lfht_table.h"

namespace nfswalk::icache {

struct InodeHashTraits {
  // Eight heads, a cache line: consecutive file ids share it (IgetFamily::HashOf()).
  static constexpr int kSlotBits = 3;
  static std::atomic<Inode*>& Next(Inode& inode) { return inode.hash_next; }
  static uint64_t Hash(const Inode& inode) { return inode.hash.load(std::memory_order_relaxed); }
  // Behind the inode, where IgetFamily has left room for it (TrailerBytes()).
  static cds_lfht_node& Link(Inode& inode) { return *reinterpret_cast<cds_lfht_node*>(&inode + 1); }
  static Inode& FromLink(cds_lfht_node& link) { return *(reinterpret_cast<Inode*>(&link) - 1); }
};

// Bytes that an inode's table needs behind the inode.
constexpr size_t TrailerBytes(HashPolicy policy) {
  return policy == HashPolicy::kLfht ? sizeof(cds_lfht_node) : 0;
}

using StripedInodeTable = rcu::HashTable<Inode, InodeHashTraits, rcu::StripedLocks>;
using BitLockInodeTable = rcu::HashTable<Inode, InodeHashTraits, rcu::ChainLocks<false>>;
using RealLockInodeTable = rcu::HashTable<Inode, InodeHashTraits, rcu::ChainLocks<true>>;
using LfhtInodeTable = rcu::LfhtTable<Inode, InodeHashTraits>;

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_TABLE_H_
