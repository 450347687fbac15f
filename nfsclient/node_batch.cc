// The batches of Node: the walks go on together until none of them needs the server any more; then
// each answers from the caches, or by itself.

#include <algorithm>
#include <new>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/lookup_together.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/walk/path_walk.h"
#include "nfsclient/walk_request.h"
#include "rcu/fork.h"

namespace nfswalk {

using nfs::NeedRef;
using nfs::StoppedWalk;
using walk::PathWalk;
using walk::RcuOutcome;
using walk::RcuWalk;

namespace {

constexpr std::errc kOk{};

// Walks at once: their results stay cached until they are used.
constexpr size_t kWalksMax = 2048;

bool IsLate(std::errc error) {
  return error == std::errc::timed_out || error == std::errc::operation_canceled;
}

// The walks of one part of a batch.
class TogetherWalks {
 public:
  // `needs_attributes`: of what the paths lead to.
  TogetherWalks(nfs::Superblock& superblock, const vfs::DentryRef* node, PathCall call,
                const Credential& credential, ResolveFlags flags, bool needs_attributes)
      : superblock_(superblock),
        node_(node),
        call_(call),
        credential_(credential),
        flags_(flags),
        needs_attributes_(needs_attributes) {}

  // Fills the caches with what the paths lead through; with dont_cache while this lives. Errors:
  // those of LookupTogether::Fetch(), of what the walks must not ask for by themselves. Throws
  // std::bad_alloc.
  std::errc Run(std::span<const std::string_view> paths) {
    const protocol::CallDeadline deadline(superblock_.protocol->NewDeadline());
    auto key = superblock_.credentials.Lookup(credential_);
    if (!key) return kOk;
    key_ = std::move(*key);
    nfs::LookupTogether& together = together_.emplace(superblock_, key_, flags_.dont_cache);
    pending_.resize(paths.size());
    for (size_t i = 0; i < paths.size(); ++i) pending_[i].path = paths[i];
    while (!pending_.empty()) {
      std::vector<StoppedWalk> stopped = WalkOn(together);
      if (stopped.empty()) break;
      if (const std::errc error = together.Fetch(stopped); error != kOk) return error;
    }
    return kOk;
  }

 private:
  // Where a walk stopped last, and whether its directory had been listed for it.
  using Stop = std::tuple<const icache::Inode*, NeedRef, size_t, bool>;
  struct Pending {
    std::string_view path;
    Stop last = {};
  };

  // Drops the walks that end, and those that did not get on: the next one is by itself.
  std::vector<StoppedWalk> WalkOn(const nfs::LookupTogether& together) {
    std::vector<StoppedWalk> stopped;
    stopped.reserve(pending_.size());
    std::erase_if(pending_, [&](Pending& pending) {
      StoppedWalk now = WalkOne(pending.path);
      if (!now.at) return true;
      const icache::Inode& inode = *now.at.inode();
      const Stop stop{&inode, now.need, now.rest.size(), together.WasListed(inode)};
      if (std::exchange(pending.last, stop) == stop) return true;
      stopped.push_back(std::move(now));
      return false;
    });
    return stopped;
  }

  StoppedWalk WalkOne(std::string_view path) {
    const WalkRequest request = RequestOf(superblock_, node_, call_, path, flags_);
    if (request.error != kOk) return {};
    PathWalk walk(superblock_, request.start, request.path, credential_, request.flags);
    if (walk.Begin() != kOk) return {};
    const RcuOutcome outcome = walk.Rcu([&](RcuWalk& at) -> RcuOutcome {
      const bool fresh = !needs_attributes_ || nfs::AttributesFresh(at.inode(), at.now_ns());
      return fresh ? at.Confirm() : RcuOutcome{NeedRef::kGetattrRpc};
    });
    if (outcome.need == NeedRef::kNone) return {};
    StoppedWalk stopped{.at = walk.TakePosition(), .need = outcome.need};
    if (stopped.at) stopped.rest = walk.rest();
    return stopped;
  }

  nfs::Superblock& superblock_;
  const vfs::DentryRef* const node_;
  const PathCall call_;
  const Credential& credential_;
  const ResolveFlags flags_;
  const bool needs_attributes_;
  sunrpc_auth::CredentialRef key_;
  std::optional<nfs::LookupTogether> together_;
  std::vector<Pending> pending_;
};

// Else some of what is fetched together would be asked for again.
bool CachesAll(const nfs::Superblock& superblock) {
  return superblock.acdirmin_ns != 0 && superblock.acregmin_ns != 0 &&
         superblock.options.lookupcache == LookupCache::kAll;
}

// `answer(i, flags)` is the call of paths[i]; `fail(i, error)` its result.
template <typename Answer, typename Fail>
void RunBatch(nfs::Superblock& superblock, const vfs::DentryRef* node, PathCall call,
              std::span<const std::string_view> paths, const Credential& credential,
              ResolveFlags flags, bool needs_attributes, Answer answer, Fail fail) {
  const bool together = !flags.cached && paths.size() > 1 && CachesAll(superblock) &&
                        superblock.walks_under_rcu.load();
  const size_t walks_max = std::clamp<size_t>(superblock.dentries.limit() / 4, 1, kWalksMax);
  for (size_t begin = 0; begin < paths.size();) {
    const size_t count = std::min(walks_max, paths.size() - begin);
    std::errc late{};
    std::optional<TogetherWalks> walks;
    if (together) {
      try {
        walks.emplace(superblock, node, call, credential, flags, needs_attributes);
        late = walks->Run(paths.subspan(begin, count));
      } catch (const std::bad_alloc&) {  // the calls meet that themselves
      }
    }
    // Once the time is over the server is not asked any more, path by path.
    ResolveFlags own = flags;
    own.cached |= IsLate(late);
    for (const size_t end = begin + count; begin < end; ++begin) {
      if (answer(begin, own) == std::errc::resource_unavailable_try_again && IsLate(late)) {
        fail(begin, late);
      }
    }
  }
}

}  // namespace

void Node::StatEach(std::span<const std::string_view> paths, const Credential& credential,
                    std::span<Result<Attributes>> results, ResolveFlags flags) const {
  const auto answer = [&](size_t i, ResolveFlags own) {
    results[i] = Stat(paths[i], credential, own);
    return results[i] ? kOk : results[i].error();
  };
  const auto fail = [&](size_t i, std::errc error) { results[i] = std::unexpected(error); };
  RunBatch(superblock_, at_.get(), PathCall::kStat, paths, credential, flags, true, answer, fail);
}

void Node::ResolveEach(std::span<const std::string_view> paths, const Credential& credential,
                       std::span<Result<std::unique_ptr<Node>>> results, ResolveFlags flags) const {
  const auto answer = [&](size_t i, ResolveFlags own) {
    results[i] = Resolve(paths[i], credential, own);
    return results[i] ? kOk : results[i].error();
  };
  const auto fail = [&](size_t i, std::errc error) { results[i] = std::unexpected(error); };
  RunBatch(superblock_, at_.get(), PathCall::kResolve, paths, credential, flags, false, answer,
           fail);
}

}  // namespace nfswalk
