#include "nfsclient/ahead/list_ahead.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

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

// File systems take 20 to 40 bytes an entry.
constexpr uint64_t kListedBytesMax = 128 * 1024;
constexpr uint64_t kRefreshedBytesMax = 1024 * 1024;

uint64_t SizeOf(icache::Inode& directory) {
  protocol::Attributes attributes;
  CopyAttributes(directory, attributes);
  return attributes.size_bytes;
}

// Limit of a listing: what it brings evicts about a 64th of a full cache.
size_t EntriesMax(const Superblock& superblock) {
  constexpr size_t kShare = 64;
  return std::min(kEntriesMax, superblock.dentries.limit() / kShare);
}

// A listing of one directory. Lookups in it wait for its first reply.
struct Listing {
  // `deadline`: the calling thread's where it is null.
  void Make(protocol::CallDeadline* deadline);

  Superblock& superblock;
  DentryRef directory;
  Credential credential;
  vfs::LookupsInFlight::Ticket first_reply;
};

void Listing::Make(protocol::CallDeadline* deadline) {
  const size_t entries_max = EntriesMax(superblock);
  size_t entries = 0, cached = 0;
  const std::errc error = ReadDirectory(
      superblock, directory, credential,
      [&](const protocol::DirectoryEntry& entry) {
        first_reply = {};
        cached += entry.attributes && entry.handle;
        return ++entries < entries_max;
      },
      deadline);
  // Without use: single calls are better, as in a long directory.
  // A caller that gave up has not learned that.
  const bool gave_up =
      error == std::errc::operation_canceled || (error == std::errc::timed_out && entries > 0);
  const bool is_useless = (error != std::errc{} && !gave_up) || 2 * cached < entries;
  directory.inode()->lookup_misses.SetEntries(is_useless ? SIZE_MAX : entries);
  first_reply = {};
}

// Has a thread in the background make a listing. Returns it where the caller is to make it, as many
// run already as may; null while the first reply to an earlier one is due.
std::shared_ptr<Listing> List(Superblock& superblock, const DentryRef& directory,
                              const Credential& credential) {
  auto first_reply = superblock.lookups.TryBeginListing(directory.inode()->handle());
  if (!first_reply.owned()) return nullptr;
  std::shared_ptr<Listing> listing(
      new Listing{superblock, directory.Copy(), credential, std::move(first_reply)});
  // A thread that makes it holds its references alone.
  const std::weak_ptr<Listing> left = listing;
  TaskThreads::Task make = [listing = std::move(listing)] {
    protocol::CallDeadline deadline(listing->superblock.protocol->NewDeadline());
    listing->Make(&deadline);
  };
  return superblock.background.TryRun(make) ? nullptr : left.lock();
}

// Between children of a row. No longer than attributes live, so that they are different ones.
uint64_t PauseMaxNs(const Superblock& superblock) {
  constexpr uint64_t kPauseMaxNs = 1'000'000'000;
  return std::min({kPauseMaxNs, superblock.acregmin_ns, superblock.acdirmin_ns});
}

constexpr size_t kEntriesPerCall = 64;

// True for the child of a row that makes a listing due, and again for 16 times as many. An entry
// costs about a 64th of a call.
bool IsDue(size_t children, size_t entries) {
  size_t due = entries == 0 ? kMinMissesToList : std::max<size_t>(2, entries / kEntriesPerCall);
  while (due < children) due *= 16;
  return due == children;
}

// The listing of a directory in which a batch misses names.
struct BatchListing {
  DentryRef* directory;
  size_t entries_max;
  vfs::LookupsInFlight::Ticket first_reply;
  DirectoryStream stream = {};
  size_t entries = 0;
  size_t cached = 0;
  bool ended = false;
};

bool ShouldList(icache::Inode& directory, size_t names) {
  constexpr uint64_t kEntryBytesMin = 20;  // tmpfs
  if (names < kMinMissesToList) return false;
  size_t expected = directory.lookup_misses.entries();
  if (expected == 0) {
    protocol::Attributes attributes;
    CopyAttributes(directory, attributes);
    expected = attributes.size_bytes / kEntryBytesMin;
  }
  return expected <= names * kEntriesPerCall;
}

void CountEntries(BatchListing& listing, std::errc error) {
  for (const protocol::DirectoryEntry& entry : listing.stream.entries()) {
    if (IsDots(entry)) continue;
    ++listing.entries;
    listing.cached += entry.attributes && entry.handle;
  }
  listing.first_reply = {};
  const bool failed = error != std::errc{};
  listing.ended = failed || listing.stream.at_end() || listing.entries >= listing.entries_max;
  if (!listing.ended) return;
  const bool is_useless = failed || 2 * listing.cached < listing.entries;
  listing.directory->inode()->lookup_misses.SetEntries(is_useless ? SIZE_MAX : listing.entries);
}

// Fetches the next reply of each listing.
std::errc FetchNextReplies(Superblock& superblock, std::deque<BatchListing>& listings,
                           const Credential& credential) {
  const protocol::CallDeadline deadline(superblock.protocol->NewDeadline());
  std::vector<BatchListing*> asked;
  std::vector<protocol::ListQuestion> questions;
  std::vector<const icache::Inode*> directories;
  for (BatchListing& listing : listings) {
    const auto position = listing.stream.Next();
    if (!position) {
      CountEntries(listing, position.error());
      continue;
    }
    const icache::Inode& inode = *listing.directory->inode();
    asked.push_back(&listing);
    questions.push_back({inode.handle(), *position});
    directories.push_back(&inode);
  }
  std::vector<protocol::ReadDirReply> replies(questions.size());
  std::vector<std::pair<SendStamp, uint64_t>> samples;  // with the change id
  samples.reserve(asked.size());
  const auto locks = superblock.inode_locks.LockAllShared(directories);
  if (locks.empty() && !directories.empty()) return protocol::CallDeadline::Error();
  for (const icache::Inode* inode : directories) {
    samples.emplace_back(Stamp(superblock), inode->change_id.load(std::memory_order_relaxed));
  }
  superblock.protocol->ReadDirBatch(questions, credential, replies);
  std::errc late{};
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto& [stamp, change_id] = samples[i];
    const std::errc error = asked[i]->stream.Take(superblock, *asked[i]->directory,
                                                  std::move(replies[i]), stamp, change_id);
    if (error == std::errc::timed_out || error == std::errc::operation_canceled) late = error;
    CountEntries(*asked[i], error);
  }
  return late;
}

}  // namespace

void ListAhead(Superblock& superblock, DentryRef& directory, const Credential& credential) try {
  icache::Inode& inode = *directory.inode();
  if (!inode.lookup_misses.TakeReaddirHint() || !WantsListings(superblock)) return;
  if (SizeOf(inode) > kListedBytesMax) return;
  if (const auto listing = List(superblock, directory, credential)) listing->Make(nullptr);
} catch (const std::bad_alloc&) {
}

void RefreshAhead(Superblock& superblock, DentryRef& directory, const icache::Inode& child,
                  const Credential& credential) try {
  if (!WantsListings(superblock) || superblock.acregmin_ns == 0) return;
  icache::Inode& inode = *directory.inode();
  const size_t count =
      superblock.expired_children.Add(inode, child, rcu::CoarseNowNs(), PauseMaxNs(superblock));
  if (IsDue(count, inode.lookup_misses.entries()) && SizeOf(inode) <= kRefreshedBytesMax) {
    const auto limit = protocol::CallDeadline::Clock::now() + vfs::LookupsInFlight::kListingWaitMax;
    const protocol::CallDeadline deadline(limit);
    if (const auto listing = List(superblock, directory, credential)) listing->Make(nullptr);
  }
  (void)superblock.lookups.WaitForListing(inode.handle());
} catch (const std::bad_alloc&) {
}

std::errc ListBatch(Superblock& superblock, std::span<MissedNames> missed,
                       const Credential& credential) {
  std::deque<BatchListing> listings;
  if (!WantsListings(superblock)) return {};
  for (MissedNames& one : missed) {
    if (!ShouldList(*one.directory->inode(), one.names)) continue;
    auto ticket = superblock.lookups.TryBeginListing(one.directory->inode()->handle());
    // Another thread's: its walks wait for it.
    if (!ticket.owned()) continue;
    one.listed = true;
    listings.push_back(
        {.directory = one.directory,
         .entries_max = std::max(EntriesMax(superblock), one.names * kEntriesPerCall),
         .first_reply = std::move(ticket)});
  }
  while (!listings.empty()) {
    if (const std::errc late = FetchNextReplies(superblock, listings, credential);
        late != std::errc{}) {
      return late;
    }
    std::erase_if(listings, [](const BatchListing& listing) { return listing.ended; });
  }
  return {};
}

void NoteRefreshed(Superblock& superblock, const DentryRef& directory, const icache::Inode& child) {
  superblock.expired_children.Begin(*directory.inode(), child, rcu::CoarseNowNs(),
                                    PauseMaxNs(superblock));
}

}  // namespace nfswalk::nfs
