// The batches of Node: paths are resolved in rounds, each of which sends the lookups that their
// walks miss as one batch, until no walk needs the server; then each answers from the caches, or by
// itself. A stat is answered where its walk ends. READs are in flight at the same time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "nfsclient/ahead/batch_lookup.h"
#include "nfsclient/api/stat_completion.h"
#include "nfsclient/api/walk_request.h"
#include "nfsclient/client.h"
#include "nfsclient/data/read_ahead.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/path_walk.h"
#include "nfsclient/walk/walk.h"
#include "rcu/fork.h"

namespace nfswalk {

using nfs::NeedRef;
using nfs::StoppedWalk;
using walk::PathWalk;
using walk::RcuOutcome;
using walk::RcuWalk;
using walk::RefWalk;

namespace {

// Walks at once: their results stay cached until they are used.
constexpr size_t kWalksMax = 2048;

bool IsLate(std::errc error) {
  return error == std::errc::timed_out || error == std::errc::operation_canceled;
}

bool IsFile(const icache::Inode& inode) { return inode.type.load() == FileType::kRegular; }

enum class Needs : uint8_t {
  kNothing,
  kAttributes,
  kRights,  // to read a regular file, and its attributes
};

// The walks of one part of a batch.
class BatchWalks {
 public:
  // `needs`: what the call reads of the file that a path leads to. `stats`: get the results of
  // walks that end, if they are all that the call asks for; one for each path of Run(), or empty.
  BatchWalks(nfs::Superblock& superblock, const vfs::DentryRef* node, PathCall call,
                const Credential& credential, ResolveFlags flags, Needs needs,
                std::span<Result<Attributes>> stats)
      : superblock_(superblock),
        node_(node),
        call_(call),
        credential_(credential),
        flags_(flags),
        needs_(needs),
        stats_(stats) {}

  // Fills the caches with what the paths lead through; with dont_cache while this lives. Errors:
  // those of BatchLookup::Fetch(), of what the walks must not ask for by themselves. Throws
  // std::bad_alloc.
  std::errc Run(std::span<const std::string_view> paths) {
    is_answered_.resize(paths.size());
    const protocol::CallDeadline deadline(superblock_.protocol->NewDeadline());
    auto key = superblock_.credentials.Lookup(credential_);
    if (!key) return kOk;
    key_ = std::move(*key);
    nfs::BatchLookup& batch = batch_.emplace(superblock_, key_, flags_.dont_cache);
    pending_.resize(paths.size());
    for (size_t i = 0; i < paths.size(); ++i) pending_[i] = {.number = i, .path = paths[i]};
    while (!pending_.empty()) {
      std::vector<StoppedWalk> stopped = WalkOn(batch);
      if (stopped.empty()) break;
      if (const std::errc error = batch.Fetch(stopped); error != kOk) return error;
    }
    return kOk;
  }

  // Whether the result of paths[i] is in `stats`.
  bool IsAnswered(size_t i) const { return i < is_answered_.size() && is_answered_[i]; }

 private:
  // The position at which a walk stopped last, and whether its directory had been listed for it.
  using Stop = std::tuple<const icache::Inode*, NeedRef, size_t, bool>;
  struct Pending {
    size_t number = 0;
    std::string_view path = {};
    Stop last = {};
  };

  // Drops the walks that end, and those without progress since the last round, which are resolved
  // alone.
  std::vector<StoppedWalk> WalkOn(const nfs::BatchLookup& batch) {
    std::vector<StoppedWalk> stopped;
    stopped.reserve(pending_.size());
    std::erase_if(pending_, [&](Pending& pending) {
      StoppedWalk now = WalkOne(pending.number, pending.path);
      if (!now.at) return true;
      const icache::Inode& inode = *now.at.inode();
      const Stop stop{&inode, now.need, now.rest.size(), batch.WasListed(inode)};
      if (std::exchange(pending.last, stop) == stop) return true;
      stopped.push_back(std::move(now));
      return false;
    });
    return stopped;
  }

  StoppedWalk WalkOne(size_t number, std::string_view path) {
    const WalkRequest request = RequestOf(superblock_, node_, call_, path, flags_);
    if (request.error != kOk) return {};
    PathWalk walk(superblock_, request.start, request.path, credential_, request.flags);
    if (walk.Begin() != kOk) return {};
    const bool answers = !stats_.empty() && !request.flags.strict;
    const RcuOutcome outcome = walk.Rcu([&](RcuWalk& at) -> RcuOutcome {
      if (answers) {
        Result<Attributes>& stat = stats_[number];
        return StatRcu(superblock_, at, stat ? *stat : stat.emplace());
      }
      NeedRef need = NeedRef::kNone;
      if (needs_ == Needs::kRights) {
        if (IsFile(at.inode())) need = at.Permission(kMayRead).need;
      } else if (needs_ == Needs::kAttributes &&
                 !nfs::AttributesFresh(superblock_, at.inode(), at.now_ns())) {
        need = NeedRef::kGetattrRpc;
      }
      return need == NeedRef::kNone ? at.Confirm() : RcuOutcome{need};
    });
    if (outcome.need == NeedRef::kNone) {
      is_answered_[number] = answers;
      if (answers && outcome.error != kOk) stats_[number] = std::unexpected(outcome.error);
      return {};
    }
    StoppedWalk stopped{.at = walk.TakePosition(), .need = outcome.need};
    if (stopped.at) stopped.rest = walk.rest();
    return stopped;
  }

  nfs::Superblock& superblock_;
  const vfs::DentryRef* const node_;
  const PathCall call_;
  const Credential& credential_;
  const ResolveFlags flags_;
  const Needs needs_;
  const std::span<Result<Attributes>> stats_;
  std::vector<bool> is_answered_;
  sunrpc_auth::CredentialRef key_;
  std::optional<nfs::BatchLookup> batch_;
  std::vector<Pending> pending_;
};

// Else some of what is fetched together would be asked for again.
bool CachesAll(const nfs::Superblock& superblock) {
  return superblock.acdirmin_ns != 0 && superblock.acregmin_ns != 0 &&
         superblock.options.lookupcache == LookupCache::kAll;
}

// `answer(i, flags)` is the call of paths[i]; `fail(i, error)` its result. `stats`: of
// BatchWalks.
template <typename Answer, typename Fail>
void RunBatch(nfs::Superblock& superblock, const vfs::DentryRef* node, PathCall call,
              std::span<const std::string_view> paths, const Credential& credential,
              ResolveFlags flags, Needs needs, std::span<Result<Attributes>> stats, Answer answer,
              Fail fail) {
  const bool batch = !flags.cached && paths.size() > 1 && CachesAll(superblock) &&
                        superblock.walks_under_rcu.load();
  const size_t walks_max = std::clamp<size_t>(superblock.dentries.limit() / 4, 1, kWalksMax);
  for (size_t begin = 0; begin < paths.size();) {
    const size_t count = std::min(walks_max, paths.size() - begin);
    std::errc late{};
    std::optional<BatchWalks> walks;
    if (batch) {
      try {
        walks.emplace(superblock, node, call, credential, flags, needs,
                      stats.empty() ? stats : stats.subspan(begin, count));
        late = walks->Run(paths.subspan(begin, count));
      } catch (const std::bad_alloc&) {  // the calls meet that themselves
      }
    }
    // Once the time is over the server is not asked any more, path by path.
    ResolveFlags own = flags;
    own.cached |= IsLate(late);
    const size_t first = begin;
    for (const size_t end = begin + count; begin < end; ++begin) {
      if (walks && walks->IsAnswered(begin - first)) continue;
      if (answer(begin, own) == std::errc::resource_unavailable_try_again && IsLate(late)) {
        fail(begin, late);
      }
    }
  }
}

// The READs of a batch, which are finished in their order.
class BatchRead {
 public:
  using Results = std::span<Result<size_t>>;
  // `read_alone(i)`: the whole call of a file that is not read by one READ.
  using ReadAlone = std::function<Result<size_t>(size_t)>;

  BatchRead(nfs::Superblock& superblock, std::span<const std::span<std::byte>> into,
                const Credential& credential, Results results, ReadAlone read_alone)
      : superblock_(superblock),
        into_(into),
        credential_(credential),
        results_(results),
        read_alone_(std::move(read_alone)) {}

  // True if a READ of the file for results[i] is in flight now; false if it must be read alone.
  bool Start(size_t i, icache::Inode& inode) try {
    // To read nothing costs nothing where an open is not sent.
    if (into_[i].empty() && !superblock_.protocol->sends_open()) return false;
    const size_t bytes = std::min<size_t>(into_[i].size(), superblock_.limits.read_bytes_max);
    Attributes known;
    if (bytes < into_[i].size() && nfs::CopyAttributesRcu(inode, known) &&
        known.size_bytes > bytes) {
      return false;
    }
    // A READ does not show data that is not on the server yet.
    if (nfs::HasValidityBits(inode, icache::kRetained)) return false;
    if (reads_.size() == kReadsMax) FinishOldest();
    Read& read = reads_.emplace_back(Read{i, icache::Hold(inode), nfs::Stamp(superblock_)});
    read.in_flight = superblock_.protocol->StartRead(inode.handle(), 0, into_[i].first(bytes),
                                                     nullptr, credential_);
    if (read.in_flight == nullptr) reads_.pop_back();
    return read.in_flight != nullptr;
  } catch (const std::bad_alloc&) {
    if (!reads_.empty() && reads_.back().in_flight == nullptr) reads_.pop_back();
    return false;
  }

  // kOk, or why the server is not asked any more.
  std::errc late() const { return late_; }

  void FinishAll() {
    while (!reads_.empty()) FinishOldest();
  }

 private:
  static constexpr size_t kReadsMax = 64;

  struct Read {
    size_t number;
    icache::InodeRef inode;
    nfs::SendStamp stamp;
    protocol::ReadInFlight in_flight = nullptr;
  };

  void FinishOldest() {
    Read& read = reads_.front();
    protocol::ReadReply reply = read.in_flight->Finish().value_or(
        protocol::Failure<protocol::ReadReply>(protocol::CallDeadline::Error()));
    const size_t number = read.number;
    const bool whole = TakeIn(read, reply);
    reads_.pop_front();
    if (whole) {
      results_[number] = reply.count_bytes;
    } else if (IsLate(reply.error)) {
      late_ = reply.error;
      results_[number] = std::unexpected(reply.error);
    } else {
      results_[number] = read_alone_(number);
    }
  }

  // Returns whether the reply holds all that was asked for.
  bool TakeIn(const Read& read, protocol::ReadReply& reply) {
    if (reply.error != kOk || !reply.attributes) return false;
    (void)nfs::UpdateAttributes(superblock_, *read.inode, *reply.attributes, read.stamp);
    data::CutAtSize(reply, 0);
    return reply.eof || reply.count_bytes == into_[read.number].size();
  }

  nfs::Superblock& superblock_;
  const std::span<const std::span<std::byte>> into_;
  const Credential& credential_;
  const Results results_;
  const ReadAlone read_alone_;
  std::deque<Read> reads_;
  std::errc late_{};
};

}  // namespace

void Node::StatEach(std::span<const std::string_view> paths, const Credential& credential,
                    std::span<Result<Attributes>> results, ResolveFlags flags) const {
  const auto answer = [&](size_t i, ResolveFlags own) {
    results[i] = Stat(paths[i], credential, own);
    return results[i] ? kOk : results[i].error();
  };
  const auto fail = [&](size_t i, std::errc error) { results[i] = std::unexpected(error); };
  RunBatch(superblock_, at_.get(), PathCall::kStat, paths, credential, flags, Needs::kAttributes,
           results.first(paths.size()), answer, fail);
}

void Node::ResolveEach(std::span<const std::string_view> paths, const Credential& credential,
                       std::span<Result<std::unique_ptr<Node>>> results, ResolveFlags flags) const {
  const auto answer = [&](size_t i, ResolveFlags own) {
    results[i] = Resolve(paths[i], credential, own);
    return results[i] ? kOk : results[i].error();
  };
  const auto fail = [&](size_t i, std::errc error) { results[i] = std::unexpected(error); };
  RunBatch(superblock_, at_.get(), PathCall::kResolve, paths, credential, flags, Needs::kNothing,
           {}, answer, fail);
}

void Node::ReadEach(std::span<const std::string_view> paths,
                    std::span<const std::span<std::byte>> into, const Credential& credential,
                    std::span<Result<size_t>> results, ResolveFlags flags) const {
  const nfs::SendStamp begun = nfs::Stamp(superblock_);
  const auto read_alone = [&](size_t i) -> Result<size_t> {
    // A read needs the file that has the name when it is sent: another client may have replaced
    // what the batch has found.
    const auto file =
        OpenSince(into[i].empty() ? &begun : nullptr, paths[i], kMayRead, credential, flags);
    return file ? (*file)->PRead(into[i], 0) : std::unexpected(file.error());
  };
  BatchRead reads(superblock_, into, credential, results, read_alone);
  const auto answer = [&](size_t i, ResolveFlags own) {
    const std::errc late = own.cached ? CachedError(superblock_) : reads.late();
    if (late != kOk) {
      results[i] = std::unexpected(late);
      return late;
    }
    if (!CachesAll(superblock_)) {
      results[i] = read_alone(i);
      return kOk;
    }
    const WalkRequest request = RequestOf(superblock_, at_.get(), PathCall::kOpen, paths[i], own);
    bool is_started = false;
    const auto start = [&](RefWalk& walk) {
      icache::Inode& inode = walk.inode();
      if (IsFile(inode) &&
          nfs::PermissionRef(superblock_, inode, walk.credential(), kMayRead) == kOk) {
        is_started = reads.Start(i, inode);
      }
      return kOk;
    };
    if (request.error == kOk) {
      (void)walk::ResolveToReference(superblock_, request.start, request.path, credential,
                                     request.flags, &RefWalk::Resolve, start);
    }
    if (!is_started) results[i] = read_alone(i);
    return kOk;
  };
  const auto fail = [&](size_t i, std::errc error) { results[i] = std::unexpected(error); };
  RunBatch(superblock_, at_.get(), PathCall::kOpen, paths, credential, flags, Needs::kRights, {},
           answer, fail);
  reads.FinishAll();
}

}  // namespace nfswalk
