#include "nfsclient/nfs/list_ahead.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/readdir.h"
#include "rcu/coarse_clock.h"

namespace nfswalk::nfs {

using sunrpc_auth::Credential;
using vfs::DentryRef;

namespace {

bool WantsListings(const Superblock& superblock) {
  return superblock.options.rdirplus && superblock.acdirmin_ns != 0 &&
         superblock.options.lookupcache != LookupCache::kNone;
}

// By the size of the directory: file systems take 20 to 40 bytes an entry.
bool IsTooLong(icache::Inode& directory) {
  constexpr uint64_t kBytesMax = uint64_t{1} << 20;
  protocol::Attributes attributes;
  CopyAttributes(directory, attributes);
  return attributes.size_bytes > kBytesMax;
}

// Starts a listing in the background. Returns what is left to do where as many run already as may;
// nothing while the first reply to an earlier one is due, or if the directory is too long.
Background::Call List(Superblock& superblock, DentryRef& directory, const Credential& credential) {
  if (IsTooLong(*directory.inode())) return nullptr;
  auto first_reply = superblock.lookups.TryBeginListing(directory.inode()->handle());
  if (!first_reply.owned()) return nullptr;
  Background::Call list = [&superblock, directory = directory.Copy(), credential,
                           first_reply = std::move(first_reply)](bool in_background) mutable {
    std::optional<protocol::CallDeadline> deadline;  // the caller's where it lists itself
    if (in_background) deadline.emplace(superblock.protocol->NewDeadline());
    size_t entries = 0, cached = 0;
    const std::errc error = ReadDirectory(
        superblock, directory, credential,
        [&](const protocol::DirectoryEntry& entry) {
          first_reply = {};
          cached += entry.attributes && entry.handle;
          return ++entries < kEntriesMax;
        },
        deadline ? &*deadline : nullptr);
    // Without use: single calls are better, as in a long directory.
    const bool in_vain = error != std::errc{} || 2 * cached < entries;
    directory.inode()->lookup_misses.SetEntries(in_vain ? SIZE_MAX : entries);
  };
  if (superblock.background.TryStart(list)) return nullptr;
  return list;
}

// Between children of a row. No longer than attributes live, so that they are different ones.
uint64_t PauseMaxNs(const Superblock& superblock) {
  constexpr uint64_t kPauseMaxNs = 1'000'000'000;
  return std::min({kPauseMaxNs, superblock.acregmin_ns, superblock.acdirmin_ns});
}

constexpr size_t kIfUnknown = 4;
constexpr size_t kEntriesPerCall = 64;

// True for the child of a row that makes a listing due, and again for 16 times as many. An entry
// costs about a 64th of a call.
bool IsDue(size_t children, size_t entries) {
  size_t due = entries == 0 ? kIfUnknown : std::max<size_t>(2, entries / kEntriesPerCall);
  while (due < children) due *= 16;
  return due == children;
}

}  // namespace

void ListAhead(Superblock& superblock, DentryRef& directory, const Credential& credential) try {
  if (!directory.inode()->lookup_misses.TakeReaddirHint() || !WantsListings(superblock)) return;
  if (auto list = List(superblock, directory, credential)) list(/*in_background=*/false);
} catch (const std::bad_alloc&) {
}

void RefreshAhead(Superblock& superblock, DentryRef& directory, const icache::Inode& child,
                  const Credential& credential) try {
  if (!WantsListings(superblock) || superblock.acregmin_ns == 0) return;
  const icache::Inode& inode = *directory.inode();
  const size_t count =
      superblock.expired_children.Add(inode, child, rcu::CoarseNowNs(), PauseMaxNs(superblock));
  // Where it cannot be made in the background the caller is faster with its own call.
  if (IsDue(count, inode.lookup_misses.entries())) (void)List(superblock, directory, credential);
  (void)superblock.lookups.WaitForListing(inode.handle());
} catch (const std::bad_alloc&) {
}

bool ListInstead(Superblock& superblock, DentryRef& directory, size_t names,
                 const Credential& credential) try {
  constexpr uint64_t kEntryBytesMin = 20;  // tmpfs
  icache::Inode& inode = *directory.inode();
  if (names < kIfUnknown || !WantsListings(superblock)) return false;
  size_t expected = inode.lookup_misses.entries();
  if (expected == 0) {
    protocol::Attributes attributes;
    CopyAttributes(inode, attributes);
    expected = attributes.size_bytes / kEntryBytesMin;
  }
  if (expected > names * kEntriesPerCall) return false;
  auto first_reply = superblock.lookups.TryBeginListing(inode.handle());
  if (!first_reply.owned())
    return superblock.lookups.WaitForListing(inode.handle()).value_or(false);
  protocol::CallDeadline deadline(protocol::CallDeadline::Current());
  size_t entries = 0, cached = 0;
  const std::errc error = ReadDirectory(
      superblock, directory, credential,
      [&](const protocol::DirectoryEntry& entry) {
        first_reply = {};
        cached += entry.attributes && entry.handle;
        return ++entries < std::max(kEntriesMax, names * kEntriesPerCall);
      },
      &deadline);
  const bool in_vain = error != std::errc{} || 2 * cached < entries;
  inode.lookup_misses.SetEntries(in_vain ? SIZE_MAX : entries);
  return true;
} catch (const std::bad_alloc&) {
  return true;
}

void NoteRefreshed(Superblock& superblock, const DentryRef& directory, const icache::Inode& child) {
  superblock.expired_children.Begin(*directory.inode(), child, rcu::CoarseNowNs(),
                                    PauseMaxNs(superblock));
}

}  // namespace nfswalk::nfs
