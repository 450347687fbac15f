// dentry: one name in one directory and its inode; without an inode a negative dentry.
//
// Contract    `inode` is set before the dentry is published and constant until it is destroyed: a
//             name that leads to another inode gets a new dentry, after the old one is dropped.
//             Only d_move changes parent and name of a live dentry, so that a directory keeps its
//             children.
// Data        field              | written by, under which lock            | validated by
//             hash, parent, name | DentryCache::Move(), Drop(): chain lock | seq
//             verifier           | Move(); nfs/revalidate.cc, relaxed      | nothing: an older
//                                |                                         |   value costs a LOOKUP
//             lockref, lru_state | DentryCache                             | not read in RCU-walk
// Invariants  I1 seq advances with every change of {hash, parent, name} and when the dentry dies.
//             I2 hash is 0 exactly while the dentry is in no chain, so a search that compares it
//                after sampling seq cannot accept a dropped dentry (WALK-4).
//             I3 a dentry holds a reference on its parent and on its inode.
//             I4 the name words hold the start of the name, however long it is, and zeros beyond
//                its end, so that names compare by words.
// Lifetime    A reference, or an RCU section; the memory is type-stable.
// Tests       tests/unit/nfsclient/vfs/dentry_cache_test.cc, tests/race/dentry_race_test.cc
#ifndef NFSWALK_NFSCLIENT_VFS_DENTRY_H_
#define NFSWALK_NFSCLIENT_VFS_DENTRY_H_

#include <array>
#include <atomic>
#include <boost/intrusive/list_hook.hpp>
#include <cstdint>
#include <cstring>

#include "nfsclient/icache/inode.h"
#include "nfsclient/vfs/name.h"
#include "rcu/byte_pool.h"
#include "rcu/lockref.h"
#include "rcu/seqcount.h"

namespace nfswalk::vfs {

// Dentry::lru_state.
inline constexpr uint8_t kOnLru = 1;
inline constexpr uint8_t kReferenced = 2;  // DCACHE_REFERENCED: second chance
inline constexpr uint8_t kNotCached = 4;   // DCACHE_DONTCACHE; never with kOnLru

struct alignas(64) Dentry {
  static constexpr size_t kInlineWords = 5;
  static constexpr size_t kInlineName = kInlineWords * 8;

  // One cache line, up to the second name word: all that a search reads of a name of up to 16
  // bytes. Nothing there is written by taking or dropping a reference (WALK-27).
  rcu::SeqCount seq;
  std::atomic<Dentry*> hash_next{nullptr};
  std::atomic<uint64_t> hash{0};
  std::atomic<Dentry*> parent{nullptr};        // the root: itself
  std::atomic<icache::Inode*> inode{nullptr};  // nullptr: a negative dentry
  std::atomic<uint64_t> verifier{0};           // the parent's change id when last valid
  std::array<std::atomic<uint64_t>, kInlineWords> name_words{};
  // The whole name if it is longer than kInlineName. Not a union with the words: a reader that
  // races with a rename must never take bytes for an address.
  std::atomic<rcu::ByteString*> long_name{nullptr};

  rcu::Lockref lockref;
  std::atomic<uint8_t> lru_state{0};
  boost::intrusive::list_member_hook<> lru_hook;

  // Compares the bytes; the result counts only if `seq` validates afterwards. Preconditions:
  // `name.hash == hash` was seen, so that the lengths are equal; RCU section.
  bool HasName(const Name& name) const;
  // Copies the name to `into`, which has room for kNameMax bytes, without a NUL; returns its
  // length. The result counts only if `seq` validates afterwards. Preconditions: RCU section.
  size_t CopyName(char* into) const;

 private:
  bool HasRestOfName(const Name& name) const;
};
static_assert(sizeof(Dentry) == 128);

inline bool Dentry::HasName(const Name& name) const {
  return name_words[0].load(std::memory_order_relaxed) == name.word0 &&
         name_words[1].load(std::memory_order_relaxed) == name.word1 &&
         (name.length <= 16 || HasRestOfName(name));
}

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_DENTRY_H_
