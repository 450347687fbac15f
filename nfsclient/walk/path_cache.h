// path_cache: where a thread's walks came to, so that the next one to the same directory goes there
// at once, however deep it lies (WALK-17).
//
// An entry says: at this time, by this path, with each of these credentials, a walk under RCU comes
// to this directory and may search it. It is right while nothing that such a walk looks at has
// changed (Superblock::directory_changes), and as long as all attributes and rights on the prefix
// are fresh. That rests on a clock that never goes back, as CLOCK_MONOTONIC does not: if it did, an
// entry could be right for a time at which a directory on the prefix, asked for again since, is not
// validity yet. Only walks that go straight down are remembered: through a symbolic link or `..` a
// path may lead through directories that nothing keeps in the caches. The last component is never
// part of it, so that an entry serves a whole directory, and files may change without making it
// void.
//
// Entries lie in sets of seven. A set alone, one line, says which directory an entry leads to, so
// that the search for a name in it can begin while the entry is still on its prefix from memory. A
// few credentials share an entry; others, where that is full, have entries of their own. What is
// asked for once drives nothing out; if what is still right is driven out again and again, the
// cache grows and learns anew.
//
// Thread safety: one thread's own, and no other reads it: a hit stores nothing at all. It holds no
// references; what an entry points to is there while the entry is right, in an RCU section.
// Memory: for each thread that walks, until it ends, 288 KiB; up to 4.5 MiB for one that goes to
// ten thousand directories.
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

#include "nfsclient/nfs/superblock.h"
#include "nfsclient/vfs/dentry.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::walk {

// Where a walk is. `inode` was read inside the window of the dentry's sequence that `seq` opened.
struct Position {
  vfs::Dentry* dentry;
  uint64_t seq;
  icache::Inode* inode;

  friend bool operator==(const Position&, const Position&) = default;
};

// The time in which something may be validity: from <= now < until, CLOCK_MONOTONIC.
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
  // The prefix to a directory; empty if there is none worth remembering.
  struct Prefix {
    std::string_view text = {};
    uint64_t mount = 0;
    const sunrpc_auth::CachedCredential* credential = nullptr;
    uint64_t hash = 0;  // of the text and the mount

    explicit operator bool() const { return !text.empty(); }
    // Where it is to be found if the credential does not share an entry.
    uint64_t own_hash() const { return vfs::HashOfBoth(hash, credential); }
  };

  // The calling thread's; nullptr if there is no memory, or the thread is at its end. May allocate:
  // not for RCU sections.
  static PathCache* OfThread();

  // The prefix to the directory of the last component of `path`, which is readable up to
  // vfs::kNamePadding bytes beyond its end.
  static Prefix PrefixKeyOf(std::string_view path, const Superblock& superblock,
                            const sunrpc_auth::CachedCredential* credential);

  // Where the prefix leads, a directory that the credential may search; nullptr if that is not
  // known for sure. *position is the same once the entry has arrived; what is returned comes from
  // the set alone, for the search that is to begin before that. Preconditions: an RCU section, in
  // which `prefix.credential` was looked up and `now_ns` was read.
  const vfs::Dentry* Find(const Prefix& prefix, const Superblock& superblock, uint64_t now_ns,
                          Position* position) const {
    const Known known = Lookup(prefix.hash);
    if (known.entry == nullptr || !known.entry->IsValid(prefix, superblock, now_ns)) return nullptr;
    if (!known.entry->Serves(prefix.credential)) [[unlikely]]
      return known.entry->full() ? FindOwn(prefix, superblock, now_ns, position) : nullptr;
    *position = known.position();
    return known.directory;
  }

  // True if a walk should remember this prefix: its set has room or holds it already, or it is the
  // second time in a row that it was not found there.
  bool ShouldInsert(const Prefix& prefix) { return ShouldInsert(prefix.hash); }

  // `sample`: a TrySample() of superblock.directory_changes from before the walk that came to
  // `position`. If something has changed since, the entry is never right.
  void Remember(const Prefix& prefix, const Position& position, const Superblock& superblock,
                uint64_t sample, const ValidityInterval& validity, uint64_t now_ns);

  PathCache(const PathCache&) = delete;
  PathCache& operator=(const PathCache&) = delete;

 private:
  static constexpr size_t kSlots = 7;
  static constexpr size_t kSetsAtFirst = 128;
  static constexpr size_t kSetsMax = 2048;
  static constexpr size_t kCredentials = 4;
  static constexpr size_t kTextMax = 238;

  // One line decides nearly all misses.
  struct alignas(64) Set {
    // The upper bits of the prefix's hash, each combination at most once, and the address of the
    // directory, without the bits that are zero in all of them. 0: none.
    std::array<uint64_t, kSlots> slots = {};
    uint64_t wanted = 0;  // the hash that was last looked for in vain

    static constexpr int kZeroBits = std::countr_zero(alignof(vfs::Dentry));
    static constexpr int kDirectoryBits = 47 - kZeroBits;
    static constexpr uint64_t kDirectoryMask = (uint64_t{1} << kDirectoryBits) - 1;

    void Put(size_t slot, uint64_t hash, const vfs::Dentry* directory) {
      slots[slot] = (hash & ~kDirectoryMask) | reinterpret_cast<uintptr_t>(directory) >> kZeroBits;
      assert(Directory(slot) == directory);  // user space has 47 bits
    }
    // kSlots: none. Looks at all of them: which one it is cannot be guessed.
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
    // The first ones; behind them nullptr. None of them dies while the entry is right, so that
    // nobody else has its address: its rights on the prefix hold on to it, and are dropped under a
    // change of directories, or when they have expired, and the entry with them.
    std::array<const sunrpc_auth::CachedCredential*, kCredentials> credentials = {};
    uint16_t length = 0;
    std::array<char, kTextMax> bytes = {};

    std::string_view text() const { return {bytes.data(), length}; }
    bool full() const { return credentials.back() != nullptr; }
    // Without a jump: which one asks cannot be guessed.
    bool Serves(const sunrpc_auth::CachedCredential* credential) const {
      bool serves = false;
#pragma GCC unroll 4
      for (const auto* served : credentials) serves |= served == credential;
      return serves;
    }
    // Whoever asks.
    bool IsValid(const Prefix& prefix, const Superblock& superblock, uint64_t now_ns) const {
      return mount == prefix.mount && superblock.directory_changes.Validate(sample) &&
             validity.Contains(now_ns) && text() == prefix.text;
    }
  };
  static_assert(sizeof(Entry) == 320);

  PathCache() = default;
  size_t SetOf(uint64_t hash) const { return (hash >> 8) & (set_count_ - 1); }

  // The entry that a hash stands for, and the directory that it leads to if it is right.
  struct Known {
    Entry* entry;
    vfs::Dentry* directory;

    Position position() const { return {directory, entry->seq, entry->inode}; }
  };
  Known Lookup(uint64_t hash) const {
    const size_t set = SetOf(hash);
    const size_t slot = sets_[set].Find(hash);
    if (slot == kSlots) return {};
    return {&entries_[set * kSlots + slot], sets_[set].Directory(slot)};
  }
  const vfs::Dentry* FindOwn(const Prefix& prefix, const Superblock& superblock, uint64_t now_ns,
                             Position* position) const;
  bool ShouldInsert(uint64_t hash);
  static bool MayBeValid(const Entry& entry, const Superblock& superblock, uint64_t now_ns);
  size_t SlotFor(uint64_t hash, const Superblock& superblock, uint64_t now_ns);
  Entry* Shared(const Prefix& prefix, const Position& position, const Superblock& superblock,
                uint64_t sample, uint64_t now_ns);
  bool Grow(size_t set_count);

  size_t set_count_ = 0;  // a power of two
  std::unique_ptr<Set[]> sets_;
  std::unique_ptr<Entry[]> entries_;
  size_t conflict_evictions_ = 0;  // how many were still right, since it last grew
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_PATH_CACHE_H_
