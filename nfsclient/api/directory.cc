// An open directory: serves entries from the reply that it has, and asks for those after it.

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "nfsclient/api/walk_request.h"
#include "nfsclient/client.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/delegation.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/readdir.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/walk.h"
#include "rcu/coarse_clock.h"
#include "rcu/fork.h"

namespace nfswalk {

using walk::RefWalk;

struct Directory::State {
  nfs::Superblock& superblock;
  vfs::DentryRef at;
  const sunrpc_auth::CredentialRef credential;

  bool is_unchanged = false;

  std::mutex mutex = {};  // guards what follows
  nfs::DirectoryStream stream = {};
  bool is_read = true;  // of the reply by which the open asked: by a Read()
  size_t next = 0;      // of the stream's entries
  uint64_t shown = 0;   // the cookie of the last entry that was visited before `next`

  // Close-to-open (NAME-5): asks the server, unless a request since `opened` has; by the listing's
  // first reply, unless the caller may have all of it.
  std::errc Open(nfs::SendStamp opened, bool has_listing) {
    icache::Inode& inode = *at.inode();
    const Credential& key = credential->key();
    std::errc error{};
    nfs::WakeDelegation(superblock, inode);
    const uint64_t now_ns = rcu::CoarseNowNs();
    const bool is_known =
        nfs::IsNewerThan(inode, opened) || (nfs::IsDelegated(superblock, inode, now_ns) &&
                                            nfs::AttributesFresh(superblock, inode, now_ns));
    const bool asks = !superblock.options.nocto && !is_known;
    if (asks && has_listing && nfs::HasValidityBits(inode, icache::kDataInUse)) {
      error = nfs::RevalidateInode(superblock, inode, key, true);
    } else if (asks) {
      error = stream.Fetch(superblock, at, key, nullptr);
      is_read = false;
    }
    is_unchanged = nfs::NoteDataInUse(inode);
    return error;
  }

  // Sets `next` to the first of the stream's entries after this cookie; begins a new listing there
  // if they do not follow it. A reader that goes on where it was stays in the listing that it has,
  // which knows the cookies before: those at the end of a reply may be of entries that are hidden,
  // and one cookie may come twice.
  void Seek(uint64_t cookie) {
    const auto& entries = stream.entries();
    const bool is_first = !std::exchange(is_read, true);
    if (cookie == std::exchange(shown, cookie) && cookie != 0) return;
    next = 0;
    if (cookie == 0) {
      // A reader that comes late sees what was made meanwhile.
      icache::Inode& inode = *at.inode();
      const bool is_current = is_first && stream.IsLatest(inode) &&
                              nfs::AttributesFresh(superblock, inode, rcu::CoarseNowNs());
      if (!is_current) stream = nfs::DirectoryStream();
    } else if (cookie != stream.cookie()) {
      const auto last = std::ranges::find(entries, cookie, &DirectoryEntry::cookie);
      if (last != entries.end()) {
        next = static_cast<size_t>(last - entries.begin()) + 1;
      } else {
        stream = nfs::DirectoryStream({cookie, stream.verifier()});
      }
    }
  }
};

Directory::Directory(std::unique_ptr<State> state) : state_(std::move(state)) {}
Directory::~Directory() {
  if (rcu::InForkedChild()) (void)state_.release();
}

std::errc Directory::Read(uint64_t cookie,
                          const std::function<bool(const DirectoryEntry&)>& visit) try {
  if (rcu::InForkedChild()) return std::errc::operation_canceled;
  State& state = *state_;
  const std::lock_guard turn(state.mutex);
  protocol::CallDeadline deadline(protocol::CallDeadline::Clock::time_point::max());
  state.Seek(cookie);
  while (true) {
    if (state.superblock.shut_down.load()) return std::errc::operation_canceled;
    for (const auto& entries = state.stream.entries(); state.next < entries.size(); ++state.next) {
      const DirectoryEntry& entry = entries[state.next];
      if (!nfs::IsShown(state.superblock, *state.at.inode(), entry)) continue;
      if (entry.cookie == 0) return std::errc::too_many_symbolic_link_levels;  // the beginning again
      if (!visit(entry)) return kOk;
      state.shown = entry.cookie;
    }
    if (state.stream.at_end()) return kOk;
    const std::errc error =
        state.stream.Fetch(state.superblock, state.at, state.credential->key(), &deadline);
    if (error != kOk) return error;
    state.next = 0;
  }
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

Result<LookupResult> Directory::Lookup(std::string_view name, ResolveFlags flags) const {
  if (rcu::InForkedChild()) return std::unexpected(std::errc::operation_canceled);
  return Node::LookupFrom(state_->superblock, &state_->at, name, state_->credential->key(), flags);
}

bool Directory::is_unchanged() const { return !rcu::InForkedChild() && state_->is_unchanged; }

Result<LookupResult> Directory::LookupListed(const DirectoryEntry& entry) const try {
  auto found = Lookup(entry.name, {.no_follow = true, .cached = true});
  const bool has_name = entry.handle && entry.name.size() <= vfs::kNameMax;
  const bool needs_server = !found && found.error() == CachedError(state_->superblock);
  if (!needs_server || !has_name || rcu::InForkedChild()) return found;
  const vfs::PaddedName name(entry.name, state_->at.get());
  const vfs::DentryRef listed = state_->superblock.dentries.Lookup(*state_->at, name.name());
  if (!listed || listed.inode() == nullptr || !listed.inode()->HasHandle(*entry.handle)) {
    return found;
  }
  LookupResult result = Node::FoundAt(state_->superblock, state_->at, entry.name, listed);
  result.attributes_valid_ns = result.name_valid_ns = 0;
  return result;
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

Result<std::unique_ptr<Directory>> Node::OpenDirectory(std::string_view path,
                                                       const Credential& credential,
                                                       ResolveFlags flags,
                                                       bool has_listing) const {
  const WalkRequest request = RequestOf(superblock_, at_.get(), PathCall::kReadDir, path, flags);
  if (request.error != kOk) return std::unexpected(request.error);
  if (request.flags.cached) return std::unexpected(CachedError(superblock_));
  // A stamp is a store that all threads share. With nocto nothing is compared with it.
  const auto begin = superblock_.options.nocto ? nfs::SendStamp() : nfs::Stamp(superblock_);
  std::unique_ptr<Directory> opened;
  const std::errc error = walk::ResolveToReference(
      superblock_, request.start, request.path, credential, request.flags, &RefWalk::Resolve,
      [&](RefWalk& walk) -> std::errc {
        if (!walk.inode().is_directory()) return std::errc::not_a_directory;
        const std::errc refused =
            nfs::PermissionRef(superblock_, walk.inode(), walk.credential(), kMayRead);
        if (refused != kOk) return refused;
        opened.reset(new Directory(std::unique_ptr<Directory::State>(
            new Directory::State{superblock_, walk.position().Copy(), walk.TakeCredential()})));
        return opened->state_->Open(begin, has_listing);
      });
  if (error != kOk) return std::unexpected(error);
  return opened;
}

}  // namespace nfswalk
