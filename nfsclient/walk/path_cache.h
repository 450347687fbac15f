// path_cache: a thread's cache of prefixes: the directory that a prefix, all of a path but its last
// component, leads to, so that the next walk begins there, however deep it is (WALK-17).
//
// Contract    an entry: for its mount, its prefix and each of its credentials, an RCU-walk from the
//             export's root ends in this directory and may search it. A walk begins there instead.
// Invariants  I1 an entry is valid while no directory on its prefix has changed and the clock is
//             inside its validity interval, in which all attributes and rights on the prefix are
//             fresh. None has changed while Superblock::directory_changes has the entry's sample,
//             one load; else while it has the sum of the directories' changes, one load for each,
//             and the entry gets a new sample (rcu/keyed_change_count.h, Contract). I2 only
//             prefixes without symbolic links and ".." have entries: each directory of them is kept
//             in the caches by the next. I3 the last component is no part of an entry, which thus
//             serves all names of a directory and survives changes of files.
// Data        sets of seven entries. A set by itself, one cache line, has the directory of each, so
//             that a name's chain is prefetched while the entry is being loaded. Up to four
//             credentials share an entry; further ones have entries of their own.
//             A prefix is inserted into a full set only if it missed there twice in a row; if valid
//             entries evict each other, the cache grows and begins empty (WALK-18).
// Staleness   none, as CLOCK_MONOTONIC never goes back. If it did, an entry could be valid at a
//             time before a directory on its prefix was last revalidated.
// Lifetime    holds no references. What a valid entry points to has not been freed, in an RCU
//             section (rcu/keyed_change_count.h, Lifetime).
// Tests       tests/unit/nfsclient/walk/path_cache_test.cc, tests/race/path_cache_race_test.cc
//
// Thread safety: one thread's own; a hit stores to no other thread's memory. Memory: for each
// thread that walks, until it ends, 330 KiB; 5.2 MiB once it walks in ten thousand directories.
#ifndef NFSWALK_NFSCLIENT_WALK_PATH_CACHE_H_
#define NFSWALK_NFSCLIENT_WALK_PATH_CACHE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry.h"
#include "rcu/keyed_change_count.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::walk {

// The position of an RCU-walk: `inode` was read inside the window of the dentry's sequence count
// that `seq` opened.
struct Position {
  vfs::Dentry* dentry;
  uint64_t seq;
  icache::Inode* inode;

  friend bool operator==(const Position&, const Position&) = default;
};

// from <= now < until, CLOCK_MONOTONIC.
struct ValidityInterval {
  uint64_t from_ns = 0;
  uint64_t until_ns = std::numeric_limits<uint64_t>::max();

  void Narrow(uint64_t since_ns, uint64_t lifetime_ns) {
    from_ns = std::max(from_ns, since_ns);
    until_ns = std::min(until_ns, since_ns + lifetime_ns);
  }
  void Narrow(const ValidityInterval& other) {
    from_ns = std::max(from_ns, other.from_ns);
    until_ns = std::min(until_ns, other.until_ns);
  }
  bool Contains(uint64_t now_ns) const { return from_ns <= now_ns && now_ns < until_ns; }
};

class PathCache {
 public:
  // The key of a lookup: prefix, mount and credential; empty if there is nothing to cache.
  struct Prefix {
    std::string_view text = {};
    uint64_t mount = 0;
    const sunrpc_auth::CachedCredential* credential = nullptr;
    uint64_t hash = 0;  // of the text and the mount

    explicit operator bool() const { return !text.empty(); }
    // The hash of the credential's own entry, if it does not share one.
    uint64_t own_hash() const { return vfs::HashOfBoth(hash, credential); }
  };

  // The calling thread's; nullptr without memory, or while the thread exits. May allocate: not in
  // RCU sections.
  static PathCache* OfThread();

  // `text`: PathBuffer::prefix(), readable up to vfs::kNamePadding bytes beyond its end.
  static Prefix PrefixKeyOf(std::string_view text, const nfs::Superblock& superblock,
                            const sunrpc_auth::CachedCredential* credential);

  // The directory of a valid entry, which the credential may search, and the position in it;
  // nullptr if there is none. The return value is loaded from the set alone, so that a search may
  // begin before *position is loaded. Preconditions: an RCU section, in which `prefix.credential`
  // was looked up and `now_ns` was read.
  const vfs::Dentry* Find(const Prefix& prefix, const nfs::Superblock& superblock, uint64_t now_ns,
                          Position* position) const {
    const Hit hit = Lookup(prefix.hash);
    if (hit.entry == nullptr || !IsValid(*hit.entry, prefix, superblock, now_ns)) return nullptr;
    if (!hit.entry->Serves(prefix.credential)) [[unlikely]]
      return hit.entry->full() ? FindOwn(prefix, superblock, now_ns, position) : nullptr;
    *position = hit.position();
    return hit.directory;
  }

  // True if a walk should record this prefix: its set has a free slot or holds it already, or it is
  // the set's second miss in a row.
  bool ShouldInsert(const Prefix& prefix) { return ShouldInsert(prefix.hash); }

  // The directories of the walk that is to be recorded; the walk clears and fills it.
  rcu::KeyedChangeCount::Keys& walked() { return walked_; }

  // `sample`: a TrySample() of superblock.directory_changes from before the walk through walked()
  // that ended in `position`. Does nothing if any directory of the mount has changed since.
  void Insert(const Prefix& prefix, const Position& position, const nfs::Superblock& superblock,
              uint64_t sample, const ValidityInterval& validity, uint64_t now_ns);

  PathCache(const PathCache&) = delete;
  PathCache& operator=(const PathCache&) = delete;

 private:
  static constexpr size_t kSlots = 7;
  static constexpr size_t kSetsAtFirst = 128;
  static constexpr size_t kSetsMax = 2048;
  static constexpr size_t kCredentials = 4;
  static constexpr size_t kTextMax = 238;

  // One cache line decides nearly all misses.
  struct alignas(64) Set {
    // The upper bits of the prefix's hash, each combination at most once, and the address of the
    // directory, without the bits that are zero in all of them. 0: none.
    std::array<uint64_t, kSlots> slots = {};
    uint64_t last_miss = 0;  // the hash of it

    static constexpr int kZeroBits = std::countr_zero(alignof(vfs::Dentry));
    static constexpr int kDirectoryBits = 47 - kZeroBits;
    static constexpr uint64_t kDirectoryMask = (uint64_t{1} << kDirectoryBits) - 1;

    void Put(size_t slot, uint64_t hash, const vfs::Dentry* directory) {
      slots[slot] = (hash & ~kDirectoryMask) | reinterpret_cast<uintptr_t>(directory) >> kZeroBits;
      assert(Directory(slot) == directory);  // user space has 47 bits
    }
    // kSlots: none. Compares all slots: a branch for each would be mispredicted.
    size_t Find(uint64_t hash) const {
      unsigned found = 1u << kSlots;
#pragma GCC unroll 7
      for (size_t slot = 0; slot < kSlots; ++slot) {
        found |= static_cast<unsigned>((slots[slot] ^ hash) <= kDirectoryMask) << slot;
      }
      return static_cast<size_t>(std::countr_zero(found));
    }
    vfs::Dentry* Directory(size_t slot) const {
      return reinterpret_cast<vfs::Dentry*>((slots[slot] & kDirectoryMask) << kZeroBits);
    }
  };
  struct alignas(64) Entry {
    uint64_t mount = 0;
    uint64_t sample = 0;
    ValidityInterval validity = {};  // with every credential
    uint64_t seq = 0;                // of the directory, as in Position
    icache::Inode* inode = nullptr;
    // From the front; the rest nullptr. No address is used again while the entry is valid: the
    // rights on the prefix hold references, and are dropped under a DirectoryChange or when
    // expired.
    std::array<const sunrpc_auth::CachedCredential*, kCredentials> credentials = {};
    uint16_t length = 0;
    std::array<char, kTextMax> bytes = {};

    std::string_view text() const { return {bytes.data(), length}; }
    bool full() const { return credentials.back() != nullptr; }
    // Without a branch, which would be mispredicted.
    bool Serves(const sunrpc_auth::CachedCredential* credential) const {
      bool serves = false;
#pragma GCC unroll 4
      for (const auto* served : credentials) serves |= served == credential;
      return serves;
    }
    // If no directory on the prefix has changed. Independent of the credential.
    bool Matches(const Prefix& prefix, uint64_t now_ns) const {
      return mount == prefix.mount && validity.Contains(now_ns) && text() == prefix.text;
    }
  };
  static_assert(sizeof(Entry) == 320);
  // The directories of an entry, apart from it: no hit loads them while nothing changes in the
  // mount.
  struct Directories {
    rcu::KeyedChangeCount::Keys keys;
    uint64_t changes = 0;  // Sum() of the keys
  };

  PathCache() = default;
  size_t SetOf(uint64_t hash) const { return (hash >> 8) & (set_count_ - 1); }

  // The entry of a hash, valid or not, and its directory.
  struct Hit {
    Entry* entry;
    vfs::Dentry* directory;

    Position position() const { return {directory, entry->seq, entry->inode}; }
  };
  Hit Lookup(uint64_t hash) const {
    const size_t set = SetOf(hash);
    const size_t slot = sets_[set].Find(hash);
    if (slot == kSlots) return {};
    return {&entries_[set * kSlots + slot], sets_[set].Directory(slot)};
  }
  // Independent of the credential.
  bool IsValid(Entry& entry, const Prefix& prefix, const nfs::Superblock& superblock,
               uint64_t now_ns) const {
    return entry.Matches(prefix, now_ns) && IsUnchanged(entry, superblock);
  }
  // No directory on the prefix has changed. Preconditions: an entry of this mount.
  bool IsUnchanged(Entry& entry, const nfs::Superblock& superblock) const {
    return superblock.directory_changes.Validate(entry.sample) || Resample(entry, superblock);
  }
  bool Resample(Entry& entry, const nfs::Superblock& superblock) const;
  const vfs::Dentry* FindOwn(const Prefix& prefix, const nfs::Superblock& superblock,
                             uint64_t now_ns, Position* position) const;
  bool ShouldInsert(uint64_t hash);
  bool MayBeValid(Entry& entry, const nfs::Superblock& superblock, uint64_t now_ns) const;
  size_t SlotFor(uint64_t hash, const nfs::Superblock& superblock, uint64_t now_ns);
  Entry* FindShareable(const Prefix& prefix, const Position& position,
                       const nfs::Superblock& superblock, uint64_t sample, uint64_t now_ns);
  bool Grow(size_t set_count);

  size_t set_count_ = 0;  // a power of two
  std::unique_ptr<Set[]> sets_;
  std::unique_ptr<Entry[]> entries_;
  std::unique_ptr<Directories[]> directories_;  // of each entry
  rcu::KeyedChangeCount::Keys walked_;
  size_t conflict_evictions_ = 0;  // of valid entries, since it last grew
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_PATH_CACHE_H_
