#include "nfsclient/nfs/readdir.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/prime.h"

namespace nfswalk::nfs {

namespace {

constexpr std::errc kLoop = std::errc::too_many_symbolic_link_levels;  // ELOOP

// Replies to one READDIR that are thrown away because names repeat in them.
constexpr int kCircularRepliesMax = 3;

// So often a name may come again in a listing: a file that is replaced meanwhile does.
constexpr int kNamesAgainMax = 16;

// True if a name comes twice. While others change a directory, nfs-ganesha may link its cached
// entries in a circle for a moment, and fill a reply with them.
bool IsCircular(const std::vector<protocol::DirectoryEntry>& entries) {
  const auto first = std::ranges::find_if_not(entries, IsDots);
  if (first == entries.end()) return false;
  // Cookies that ascend or descend do not come again. nfs-ganesha's last one may be out of order.
  const auto last = entries.end() - 1;
  const std::ranges::subrange before_last(first, last);
  const auto cookie = &protocol::DirectoryEntry::cookie;
  if (std::ranges::adjacent_find(first, entries.end(), std::ranges::greater_equal(), cookie) ==
      entries.end()) {
    return false;
  }
  if (std::ranges::adjacent_find(before_last, std::ranges::less_equal(), cookie) == last ||
      std::ranges::adjacent_find(before_last, std::ranges::greater_equal(), cookie) == last) {
    return std::ranges::find(before_last, last->name, &protocol::DirectoryEntry::name) != last;
  }
  std::unordered_set<std::string_view> names(entries.size());
  return !std::ranges::all_of(entries,
                              [&](const auto& entry) { return names.insert(entry.name).second; });
}

bool CanPrime(const protocol::DirectoryEntry& entry) {
  return entry.attributes && entry.handle && entry.name.size() <= vfs::kNameMax && !IsDots(entry);
}

// A large cache is not in the processor's: what an entry needs of it is fetched while those before
// it are primed. `change_id` is the directory's from before the RPC.
void PrimeEntries(Superblock& superblock, vfs::DentryRef& directory,
                  std::span<const protocol::DirectoryEntry> entries, SendStamp stamp,
                  uint64_t change_id) {
  constexpr size_t kStep = 4;  // entries between a fetch and what needs it
  std::array<std::optional<vfs::PaddedName>, 2 * kStep> names;
  const auto name_of = [&](size_t entry) -> auto& { return names[entry % names.size()]; };
  for (size_t i = 0; i < entries.size() + 2 * kStep; ++i) {
    if (i >= 2 * kStep && name_of(i)) {
      const protocol::DirectoryEntry& entry = entries[i - 2 * kStep];
      (void)PrimeName(superblock, directory, name_of(i)->name(), *entry.handle, *entry.attributes,
                      stamp, change_id);
    }
    name_of(i).reset();
    if (i < entries.size() && CanPrime(entries[i])) {
      superblock.dentries.PrefetchBucket(
          name_of(i).emplace(entries[i].name, directory.get()).name().hash);
    }
    if (const auto& next = name_of(i + kStep)) {
      superblock.dentries.PrefetchDentry(next->name().hash);
    }
  }
}

}  // namespace

// R. Brent's algorithm.
bool Recurrence::Sees(uint64_t value) {
  const bool is_again = value == anchor_;
  if (++steps_ == power_) {
    anchor_ = value;
    steps_ = 0;
    power_ *= 2;
  }
  return is_again;
}

std::errc DirectoryStream::Advance() {
  if (reply_.entries.empty()) return std::errc::io_error;  // neither progress nor an end
  position_ = {reply_.entries.back().cookie, reply_.verifier};
  dots_ += std::ranges::count_if(reply_.entries, IsDots);
  // A cookie that comes again leads to the same entries again, and 0 to the beginning.
  goes_round_ = cookies_.Sees(position_.cookie) || position_.cookie == 0 || dots_ > 2;
  // These do not come after position_: a reader that goes on there would have them again.
  reply_.entries.clear();
  has_reply_ = false;
  return goes_round_ ? kLoop : std::errc{};
}

// Ends a listing at names that come again. A file system that lists entries in the order in which
// they were made shows those that others rename again at the end, with new cookies: what follows
// them was made since the listing began, and it has no end while they go on.
void DirectoryStream::CutWhereNamesRecur() {
  const auto recurs = [this](const protocol::DirectoryEntry& entry) {
    const bool is_again = !IsDots(entry) && names_.Sees(std::hash<std::string>()(entry.name));
    return is_again && ++names_again_ > kNamesAgainMax;
  };
  const auto first = std::ranges::find_if(reply_.entries, recurs);
  if (first == reply_.entries.end()) return;
  goes_round_ = true;
  reply_.entries.erase(first, reply_.entries.end());
  reply_.eof = false;
}

std::expected<protocol::ReadDirPosition, std::errc> DirectoryStream::Next() {
  if (goes_round_) return std::unexpected(kLoop);
  if (has_reply_) {
    if (const std::errc error = Advance(); error != std::errc{}) return std::unexpected(error);
  }
  return position_;
}

std::errc DirectoryStream::Take(Superblock& superblock, vfs::DentryRef& directory,
                                protocol::ReadDirReply reply, SendStamp stamp, uint64_t change_id) {
  icache::Inode& inode = *directory.inode();
  reply_ = std::move(reply);
  has_reply_ = reply_.error == std::errc{};
  context_ = {};
  if (reply_.directory) UpdateAttributes(superblock, inode, *reply_.directory, stamp, &context_);
  if (reply_.error == protocol::kStale) MarkStale(superblock, inode);
  if (reply_.error != std::errc{}) return reply_.error;
  goes_round_ = IsCircular(reply_.entries);
  if (goes_round_) {
    reply_.entries.clear();
    return kLoop;
  }
  CutWhereNamesRecur();
  PrimeEntries(superblock, directory, reply_.entries, stamp, change_id);
  return {};
}

std::errc DirectoryStream::Fetch(Superblock& superblock, vfs::DentryRef& directory,
                                 const sunrpc_auth::Credential& credential,
                                 protocol::CallDeadline* deadline) {
  auto position = Next();
  if (!position) return position.error();
  icache::Inode& inode = *directory.inode();
  for (int circular_replies = 0;;) {
    if (deadline != nullptr) deadline->Renew(superblock.protocol->NewDeadline());
    auto lock = superblock.inode_locks.LockShared(inode);
    if (!lock) return protocol::CallDeadline::Error();
    const SendStamp stamp = Stamp(superblock);
    const uint64_t change_id = inode.change_id.load(std::memory_order_relaxed);
    const std::errc error =
        Take(superblock, directory,
             superblock.protocol->ReadDir(inode.handle(), *position, superblock.options.rdirplus,
                                          credential),
             stamp, change_id);
    // NFS3ERR_BAD_COOKIE, NFS4ERR_NOT_SAME: of a server whose verifier changes with the directory.
    if (error == std::errc::invalid_argument && std::exchange(position->verifier, 0) != 0) continue;
    const bool is_circular = error == kLoop && has_reply_;
    if (is_circular && circular_replies++ < kCircularRepliesMax) continue;
    if (error != std::errc{}) return error;
    break;
  }
  if (deadline != nullptr) deadline->Renew(protocol::CallDeadline::Clock::time_point::max());
  return {};
}

std::errc ReadDirectory(Superblock& superblock, vfs::DentryRef& directory,
                        const sunrpc_auth::Credential& credential,
                        const std::function<bool(const protocol::DirectoryEntry&)>& visit,
                        protocol::CallDeadline* deadline) {
  DirectoryStream stream;
  do {
    const std::errc error = stream.Fetch(superblock, directory, credential, deadline);
    if (error != std::errc{}) return error;
    for (const auto& entry : stream.entries()) {
      if (IsShown(superblock, *directory.inode(), entry) && !visit(entry)) return {};
    }
  } while (!stream.at_end());
  return {};
}

}  // namespace nfswalk::nfs
