// inode: a file of the server: its handle, cached attributes, access rights, and a symbolic link's
// text.
//
// Contract    The identity (handle, fileid, type) is set before the inode is published and constant
//             until its memory is reused, a grace period after it was unhashed.
// Data        field                 | written by, under which lock    | a reader validates it by
//             attributes            | nfs/attribute_cache.cc, `lock`  | attributes_seq
//             change_id, lifetime_s | nfs/attribute_cache.cc, `lock`  | nothing: single relaxed
//               flags               |                                 |   words, see Staleness
//             read_at_ns            | nfs/attribute_cache.cc, `lock`  | acquire loads, first
//             cache_validity        | the same, nfs/readlink.cc       | acquire loads
//             link_body (links)     | nfs/readlink.cc, `lock`         | acquire load, RCU
//             alias                 | vfs/dentry_cache.cc             | acquire load, a reference
//             device (devices)      | with the attributes             | attributes_seq
//             access                | its own lock                    | access_cache.h
//             opens (files)         | superblock/open_inodes.h               | open_count.h
//             state, count 0 -> 1   | icache/iget_family.cc, `lock`   | a hint without it
//             hash, hash_next       | the table's chain lock, `lock`  | the table's rules
// Staleness   A reader that pairs an old lifetime with a new read_at_ns, or the reverse, trusts the
//             attributes for at most the longer of two lifetimes that were both granted: an update
//             either confirms the attributes or advances `change_id`, which is checked too.
// States      (INODE-1; all changes under `lock`)
//             allocated -> kNew [-> kNew|kCreating] -> live <-> on the LRU (count 0)
//             live -> kWillFree (written back by its last user) -> kFreeing -> kFreeing|kClear
//             kNew: finders wait until it is cleared. kWillFree, kFreeing: finders wait until the
//             inode is unhashed and never take a reference.
// Lifetime    A reference (InodeRef) or an RCU section.
// Tests       tests/unit/nfsclient/icache, tests/race/inode_*_test.cc
#ifndef NFSWALK_NFSCLIENT_ICACHE_INODE_H_
#define NFSWALK_NFSCLIENT_ICACHE_INODE_H_

#include <array>
#include <atomic>
#include <boost/intrusive/list_hook.hpp>
#include <cstdint>
#include <span>

#include "access_cache/access_cache.h"
#include "nfsclient/icache/lookup_misses.h"
#include "nfsclient/icache/open_count.h"
#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/protocol/types.h"
#include "rcu/byte_pool.h"
#include "rcu/seqcount.h"
#include "rcu/spin_lock.h"

namespace nfswalk::vfs {
struct Dentry;
}

namespace nfswalk::nfs {
struct InodeAttributes;
}

namespace nfswalk::icache {

// Inode::state.
inline constexpr uint16_t kNew = 1;         // I_NEW: being filled in by its creator
inline constexpr uint16_t kCreating = 2;    // I_CREATING: a file that is being created
inline constexpr uint16_t kWillFree = 4;    // I_WILL_FREE: written back, then freed
inline constexpr uint16_t kFreeing = 8;     // I_FREEING: no reference will ever be taken again
inline constexpr uint16_t kClear = 16;      // I_CLEAR: what the file system kept is gone
inline constexpr uint16_t kUsedAgain = 32;  // I_REFERENCED: second chance on the LRU
inline constexpr uint16_t kDontCache = 64;  // I_DONTCACHE: not kept after the last reference
inline constexpr uint16_t kDirty = 128;     // attributes that were not written back yet
inline constexpr uint16_t kCursor = 256;    // no inode: the place of an iteration in the list
inline constexpr uint16_t kDying = kWillFree | kFreeing;

// Inode::cache_validity (ATTR-1, ATTR-15). Access rights have an epoch of their own instead of a
// bit.
inline constexpr uint8_t kInvalidChange = 1;  // attributes, and whether a directory changed
inline constexpr uint8_t kInvalidData = 2;    // the text of a symbolic link
inline constexpr uint8_t kInvalidDirty = 4;   // attributes: data that was not sent is not in them
inline constexpr uint8_t kRetained = 8;       // data/write_back.h has data of the file
inline constexpr uint8_t kDataInUse = 16;     // opened since a change by others was noticed
inline constexpr uint8_t kOwnWrites = 32;     // attributes: what our own WRITEs did is not known yet
inline constexpr uint8_t kBarred = 64;        // attribute_generation is of the reply, not the call
inline constexpr uint8_t kDelegated = 128;    // the server calls before others change it

// Inode::flags.
inline constexpr uint8_t kStale = 1;     // NFS_STALE: the server no longer knows the handle
inline constexpr uint8_t kUnlinked = 2;  // nlink is 0, or our own change took the last known

// A time as an inode keeps it. From 1901-12-13 to 2174-02-25 that is exact; any other time is kept
// in whole seconds, to 2^62 of them.
uint64_t PackTime(protocol::Time time);
protocol::Time UnpackTime(uint64_t packed);

inline bool IsDevice(protocol::FileType type) {
  return type == protocol::FileType::kBlockDevice || type == protocol::FileType::kCharacterDevice;
}

// protocol::Attributes as atomic words, for readers under a seqcount. Without the type, the file id
// and the device, which other fields of the inode hold.
class AttributeWords {
 public:
  void Load(protocol::Attributes& attributes) const;
  uint32_t mode() const { return mode_.load(std::memory_order_relaxed); }

 private:
  friend struct Inode;
  void Store(const protocol::Attributes& attributes);

  enum Word { kOwner, kSize, kUsed, kFsid, kAtime, kMtime, kCtime, kChange, kWords };
  std::array<std::atomic<uint64_t>, kWords> words_{};
  std::atomic<uint32_t> nlink_{0};
  std::atomic<uint16_t> mode_{0};
};

// Inode::lru_shard, list_shard: on none.
inline constexpr uint8_t kOffList = 0xff;

struct alignas(64) Inode {
  // First line: what a walk through a directory reads.
  rcu::SeqCount attributes_seq;
  std::atomic<uint64_t> change_id{1};   // ATTR-6: replaced when others changed the directory
  std::atomic<uint64_t> read_at_ns{0};  // when the RPC that gave the attributes was sent
  std::atomic<uint32_t> lifetime_s{0};  // from read_at_ns on
  std::atomic<uint8_t> cache_validity{0};  // of the bits above
  std::atomic<uint8_t> flags{0};
  std::atomic<protocol::FileType> type{protocol::FileType::kRegular};
  uint8_t handle_size = 0;
  access_cache::AccessCache access;

  // Second and third: what the end of a stat reads beside the first, what is written with it, and
  // what a lookup by file handle compares.
  [[no_unique_address]] AttributeWords attributes;
  uint16_t cache_id = 0;  // that of the IgetFamily it belongs to; in the padding of `attributes`
  uint64_t fileid = 0;
  // A directory's only dentry (WALK-22), a regular file's latest, a symbolic link's text, or a
  // device's number.
  union {
    std::atomic<vfs::Dentry*> alias{nullptr};
    std::atomic<rcu::ByteString*> link_body;
    std::atomic<uint64_t> device;
  };
  uint64_t attribute_generation = 0;  // under `lock` (ATTR-9)
  // Under `lock`: when lifetime_s was last started or grown, modulo 2^32 milliseconds.
  uint32_t lifetime_since_ms = 0;
  static constexpr size_t kInlineHandle = 28;
  // Longer ones lie elsewhere; then their address is here.
  std::array<uint8_t, kInlineHandle> handle_bytes{};

  // Fourth: the chain of the hash table, what taking references writes, and the lists. In
  // rcu-search a walk that the caches answer does not read it.
  std::atomic<Inode*> hash_next{nullptr};
  std::atomic<uint64_t> hash{0};  // 0: not hashed
  boost::intrusive::list_member_hook<> lru_hook;
  boost::intrusive::list_member_hook<> list_hook;
  std::atomic<uint32_t> count{0};  // may fall to 1, and rise from 1, without the lock
  union {
    OpenCount opens{};           // of what is no directory
    LookupMisses lookup_misses;  // a directory's
  };
  std::atomic<uint16_t> state{0};
  uint8_t lru_shard = kOffList;   // under `lock` and the LRU's lock
  uint8_t list_shard = kOffList;  // under the list's lock
  rcu::SpinLock lock{rcu::LockClass::kInode};
  rcu::SpinLock access_lock{rcu::LockClass::kAccess};

  Inode() {}  // for the union

  bool is_directory() const {
    return type.load(std::memory_order_relaxed) == protocol::FileType::kDirectory;
  }
  // Key of a directory in Superblock::directory_changes and for its AccessLru; nullptr for other
  // files.
  const void* change_key() const { return is_directory() ? &access : nullptr; }
  bool Is(uint16_t bits) const { return (state.load(std::memory_order_relaxed) & bits) != 0; }
  bool hashed() const { return hash.load(std::memory_order_relaxed) != 0; }
  // Preconditions: the lock.
  void Set(uint16_t bits) {
    lock.AssertHeld();
    state.store(state.load(std::memory_order_relaxed) | bits, std::memory_order_relaxed);
  }
  void Reset(uint16_t bits) {
    lock.AssertHeld();
    state.store(state.load(std::memory_order_relaxed) & static_cast<uint16_t>(~bits),
                std::memory_order_relaxed);
  }

  // Preconditions: inside a window of attributes_seq, or under the lock.
  void LoadAttributes(protocol::Attributes& a) const;

  // Only a holder of the lock raises a count of 0, and only the last reference lowers one of 1, so
  // that these two steps need no atomic instruction.
  void TakeReferenceLocked() {
    lock.AssertHeld();
    if (count.load(std::memory_order_relaxed) == 0) {
      count.store(1, std::memory_order_relaxed);
    } else {
      count.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // True if it was the last.
  bool DropReferenceLocked() {
    lock.AssertHeld();
    if (count.load(std::memory_order_acquire) == 1) {  // pairs with Put()
      count.store(0, std::memory_order_relaxed);
      return true;
    }
    return count.fetch_sub(1, std::memory_order_acq_rel) == 1;  // pairs with Put()
  }

  // The memory of a handle of more than kInlineHandle bytes; else nullptr.
  rcu::ByteString* long_handle() const;
  protocol::FileHandle handle() const;
  bool HasHandle(const protocol::FileHandle& other) const;

 private:
  friend struct nfs::InodeAttributes;  // the only owner of a file's end (ATTR-19)
  friend struct InodeInternals;        // tests and benchmarks

  // Preconditions: the lock, or unpublished; `a` is of this file: fileid and type are the inode's.
  void StoreAttributes(const protocol::Attributes& a);
  std::span<const uint8_t> HandleBytes() const;
};
static_assert(sizeof(Inode) == 256);

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_H_
