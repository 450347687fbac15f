#include "nfsclient/ahead/batch_lookup.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>

#include "nfsclient/ahead/list_ahead.h"
#include "nfsclient/ahead/path_lookup.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/prime.h"
#include "nfsclient/nfs/revalidate.h"
#include "nfsclient/nfs/splice.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using protocol::LookupPathReply;
using protocol::LookupQuestion;
using vfs::DentryRef;

namespace {

bool IsAboutName(NeedRef need) { return need == NeedRef::kMiss || need == NeedRef::kLookupRpc; }

// True if a walk that stopped for its position's attributes has them by now: it stopped for a
// link's.
bool HasAttributes(const Superblock& superblock, const StoppedWalk& walk) {
  return walk.need == NeedRef::kGetattrRpc &&
         AttributesFresh(superblock, *walk.at.inode(), rcu::CoarseNowNs());
}

}  // namespace

std::errc BatchLookup::Fetch(std::span<StoppedWalk> walks) {
  std::vector<Item> items = Collect(walks);
  if (const std::errc error = ListDirectories(items); error != std::errc{}) return error;
  // One after the other: each holds at most kItemsMax of the locks of directories at once.
  constexpr size_t kItemsMax = 1024;
  for (std::span<Item> rest = items; !rest.empty();) {
    const std::span<Item> some = rest.first(std::min(rest.size(), kItemsMax));
    if (const std::errc error = Ask(some); error != std::errc{}) return error;
    rest = rest.subspan(some.size());
  }
  return {};
}

// One for each file and name, those of a directory together.
std::vector<BatchLookup::Item> BatchLookup::Collect(std::span<StoppedWalk> walks) {
  const bool asks_paths = AsksForWholePaths(superblock_);
  std::vector<Item> items;
  items.reserve(walks.size());
  for (StoppedWalk& walk : walks) {
    if (walk.need == NeedRef::kGetattrRpc) WakeDelegation(superblock_, *walk.at.inode());
    const bool is_known = walk.need == NeedRef::kGetattrRpc || walk.need == NeedRef::kAccessRpc;
    if (HasAttributes(superblock_, walk) || (!is_known && !IsAboutName(walk.need))) continue;
    Item item{.walk = &walk, .rights = walk.need == NeedRef::kAccessRpc};
    if (IsAboutName(walk.need) || asks_paths) item.path = SplitPath(superblock_, walk.rest);
    if (!item.path.names.empty() && item.path.names.front() != "..") {
      item.name = item.path.names.front();
      if (!asks_paths) {
        item.path.names.resize(1);
        item.path.bytes = static_cast<size_t>(item.name.end() - walk.rest.data());
      }
    } else if (IsAboutName(walk.need)) {
      continue;
    } else {
      item.path = {};
    }
    items.push_back(std::move(item));
  }
  const auto key = [](const Item& item) {
    return std::tuple(item.walk->at.inode(), item.name, item.rights);
  };
  std::ranges::stable_sort(items, std::ranges::less(), key);
  const auto same = [](const Item& a, const Item& b) {
    return a.walk->at.inode() == b.walk->at.inode() && a.name == b.name;
  };
  // Merges items that ask for rights with those that ask for attributes, which come along.
  std::vector<Item> unique;
  unique.reserve(items.size());
  for (Item& item : items) {
    if (!unique.empty() && same(unique.back(), item)) {
      unique.back().rights |= item.rights;
    } else {
      unique.push_back(std::move(item));
    }
  }
  if (asks_paths && MayList()) AskOfDirectoriesFirst(unique);
  return unique;
}

// If many names of a directory are missing, and its rights or attributes as well, one of the items
// brings those: then the directory can be listed.
void BatchLookup::AskOfDirectoriesFirst(std::vector<Item>& items) {
  std::vector<Item> asked;
  asked.reserve(items.size());
  for (auto first = items.begin(); first != items.end();) {
    const Inode* const inode = first->walk->at.inode();
    const auto end = std::find_if(first, items.end(),
                                  [&](const Item& item) { return item.walk->at.inode() != inode; });
    const bool is_unknown =
        std::any_of(first, end, [](const Item& item) { return !IsAboutName(item.walk->need); });
    const bool asks_one = is_unknown && end - first >= ptrdiff_t{kMinMissesToList};
    std::move(first, asks_one ? first + 1 : end, std::back_inserter(asked));
    first = end;
  }
  items = std::move(asked);
}

// Lists directories in which many names are missing. Those of their names that are missing then are
// found out in the next turn.
std::errc BatchLookup::ListDirectories(std::vector<Item>& items) {
  std::vector<MissedNames> missed;
  for (Item& item : items) {
    Inode& inode = *item.walk->at.inode();
    // Without the directory's own attributes its size is not known.
    const bool may_list = MayList() && !item.name.empty() && !listed_.contains(&inode) &&
                          AttributesFresh(superblock_, inode, rcu::CoarseNowNs()) &&
                          CachedAccess(superblock_, inode, credential_).has_value();
    if (!may_list) continue;
    if (missed.empty() || missed.back().directory->inode() != &inode) {
      missed.push_back({.directory = &item.walk->at});
    }
    ++missed.back().names;
  }
  const std::errc error = ListBatch(superblock_, missed, credential_->key());
  std::unordered_set<const Inode*> now;
  for (const MissedNames& one : missed) {
    if (one.listed) now.insert(one.directory->inode());
  }
  std::erase_if(items, [&](const Item& item) {
    return !item.name.empty() && now.contains(item.walk->at.inode());
  });
  listed_.merge(now);
  return error;
}

std::errc BatchLookup::Ask(std::span<Item> items) {
  std::vector<LookupQuestion> questions;
  std::vector<Item*> asked;
  std::vector<vfs::LookupsInFlight::Ticket> tickets;
  std::vector<const Inode*> directories;
  for (Item& item : items) {
    const Inode& inode = *item.walk->at.inode();
    if (!item.name.empty()) {
      // Another thread's lookup is waited for by the walk itself, holding nothing.
      auto ticket = superblock_.lookups.TryBegin(inode.handle(), item.name);
      if (!ticket.owned()) continue;
      tickets.push_back(std::move(ticket));
      directories.push_back(&inode);
    }
    asked.push_back(&item);
    questions.push_back({inode.handle(), item.path.names, item.rights});
  }
  if (questions.empty()) return {};
  std::vector<LookupPathReply> replies(questions.size());
  std::vector<Sample> samples;
  samples.reserve(asked.size());
  auto locks = superblock_.inode_locks.LockAllShared(directories);
  if (locks.empty() && !directories.empty()) return protocol::CallDeadline::Error();
  for (const Item* item : asked) {
    const Inode& inode = *item->walk->at.inode();
    samples.push_back({Stamp(superblock_), inode.change_id.load(std::memory_order_relaxed),
                       inode.access.epoch()});
  }
  superblock_.protocol->LookupBatch(questions, credential_->key(), replies);
  NFSWALK_SYNC_POINT("lookup-together:after-rpcs");
  std::errc late{};
  std::vector<std::optional<PathPrimer>> primers(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    const LookupPathReply& reply = replies[i];
    if (reply.error == std::errc::timed_out || reply.error == std::errc::operation_canceled) {
      late = reply.error;
      continue;
    }
    if (asked[i]->name.empty() || !superblock_.protocol->can_lookup_paths()) {
      TakeIn(*asked[i], reply, samples[i]);
      continue;
    }
    PathPrimer& primer = primers[i].emplace(superblock_, credential_, samples[i].stamp, due_);
    primer.Begin(asked[i]->walk->at, reply);
    const auto& names = asked[i]->path.names;
    const bool has_step = !reply.steps.empty();
    if (!has_step && reply.name_is_missing) primer.End(names.front());
    if (!has_step || !primer.Step(names.front(), reply.steps.front())) primers[i].reset();
  }
  locks.clear();
  for (size_t i = 0; i < asked.size(); ++i) {
    if (!primers[i]) continue;
    const auto& names = asked[i]->path.names;
    const size_t steps = std::min(replies[i].steps.size(), names.size());
    size_t at = 1;
    while (at < steps && primers[i]->Step(names[at], replies[i].steps[at])) ++at;
    if (at < steps) continue;
    if (replies[i].name_is_missing && steps < names.size()) primers[i]->End(names[steps]);
    if (steps == names.size()) MarkEnd(*asked[i], std::move(primers[i]->position()));
  }
  return late;
}

// Takes in the results of GETATTR and ACCESS, as RevalidateInode() and PermissionRef() do, and of a
// LOOKUP.
void BatchLookup::TakeIn(Item& item, const LookupPathReply& reply, const Sample& sample) {
  Inode& inode = *item.walk->at.inode();
  if (reply.error == protocol::kStale && reply.steps.empty()) MarkStale(superblock_, inode);
  ReplyContext context{.epoch = sample.epoch};
  if (reply.directory && UpdateAttributes(superblock_, inode, *reply.directory, sample.stamp,
                                          &context) != std::errc{}) {
    return;
  }
  due_.Note(inode, context);
  if (!item.name.empty()) return TakeName(item, reply, sample);
  if (reply.error != std::errc{} || !reply.granted || !reply.directory) return;
  CacheAccess(superblock_, inode, credential_, *reply.granted, sample.stamp.sent_at_ns,
              context.epoch);
}

void BatchLookup::TakeName(Item& item, const LookupPathReply& reply, const Sample& sample) {
  DentryRef& directory = item.walk->at;
  const vfs::PaddedName padded(item.name, directory.get());
  if (!reply.steps.empty()) {
    const protocol::PathStep& step = reply.steps.front();
    DentryRef child = PrimeName(superblock_, directory, padded.name(), step.handle, step.attributes,
                                sample.stamp, sample.change_id);
    if (child) MarkEnd(item, std::move(child));
  } else if (reply.name_is_missing) {
    if (DentryRef known = superblock_.dentries.Lookup(*directory, padded.name())) {
      superblock_.dentries.Drop(*known);
    }
    (void)SpliceChild(superblock_, directory, padded.name(), {}, sample.change_id);
  }
}

// Directories stay: a scan passes through them again.
void BatchLookup::MarkEnd(const Item& item, DentryRef child) {
  const bool is_end = item.path.bytes == item.walk->rest.size();
  if (!dont_cache_ || !is_end || child.inode() == nullptr || child.inode()->is_directory()) return;
  superblock_.dentries.MarkDontCache(*child);
  scanned_.push_back(std::move(child));
}

}  // namespace nfswalk::nfs
