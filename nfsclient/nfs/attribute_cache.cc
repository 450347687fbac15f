#include "nfsclient/nfs/attribute_cache.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "nfsclient/nfs/delegation.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using protocol::Attributes;
using protocol::FileType;

// Not in the header: only this file stores attributes.
struct InodeAttributes {
  static void Store(Inode& inode, const Attributes& attributes) {
    inode.StoreAttributes(attributes);
  }
};

namespace {

// How often a copy is tried that writers interfere with.
constexpr int kCopyTries = 8;

uint32_t LifetimeMin_s(const Superblock& superblock, const Inode& inode) {
  return inode.is_directory() ? superblock.options.acdirmin_s : superblock.options.acregmin_s;
}
uint32_t LifetimeMax_s(const Superblock& superblock, const Inode& inode) {
  return inode.is_directory() ? superblock.options.acdirmax_s : superblock.options.acregmax_s;
}

// As Inode::lifetime_since_ms.
uint32_t Milliseconds(uint64_t ns) { return static_cast<uint32_t>(ns / 1'000'000); }

// Compares a time of a reply with one that an inode may have kept for a while.
bool SameWhenCached(const protocol::Time& a, const protocol::Time& b) {
  return icache::PackTime(a) == icache::PackTime(b);
}

bool OwnershipChanged(const Attributes& a, const Attributes& b) {
  return a.mode != b.mode || a.uid != b.uid || a.gid != b.gid;
}

// Tells a listener what a reply showed of an inode, before the inode's lock, taken earlier, is
// released: a reply that shows nothing new any more finds the event posted (NAME-30).
class Notice {
 public:
  Notice(Superblock& superblock, const Inode& inode) : superblock_(superblock), inode_(inode) {}
  ~Notice() {
    if (!reason_) return;
    NFSWALK_SYNC_POINT("attributes:before-post");
    superblock_.invalidations.Post(*reason_, inode_);
  }
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;
  void Set(InvalidReason reason) { reason_ = reason; }

 private:
  Superblock& superblock_;
  const Inode& inode_;
  std::optional<InvalidReason> reason_;
};

// Preconditions of the functions below: the inode is locked, or not yet published.

void SetFlag(Superblock& superblock, Inode& inode, uint8_t flag, bool on) {
  uint8_t flags = inode.flags.load(std::memory_order_relaxed);
  uint8_t wanted = static_cast<uint8_t>(on ? flags | flag : flags & ~flag);
  if (wanted == flags) return;
  DirectoryChange change(superblock, inode);
  inode.flags.store(wanted, std::memory_order_relaxed);
}

void SetChangeId(Superblock& superblock, Inode& inode, uint64_t change_id) {
  DirectoryChange change(superblock, inode);
  inode.change_id.store(change_id, std::memory_order_relaxed);
}

void InvalidateRights(Superblock& superblock, Inode& inode) {
  DirectoryChange change(superblock, inode);
  inode.access.Invalidate();
}

void AddValidityBits(Inode& inode, uint8_t bits) {
  // Release, as every store to this word: it republishes bits that another store cleared.
  inode.cache_validity.store(
      inode.cache_validity.load(std::memory_order_relaxed) | bits,
      std::memory_order_release);  // pairs with AttributesFresh(), ReadLinkRcu()
}

void RemoveValidityBits(Inode& inode, uint8_t bits) {
  inode.cache_validity.store(
      inode.cache_validity.load(std::memory_order_relaxed) & ~bits,
      std::memory_order_release);  // pairs with AttributesFresh(), ReadLinkRcu()
}

// Orders replies: those to requests sent before this call are older than the inode's state
// (ATTR-9).
uint64_t Barrier(Superblock& superblock) {
  return superblock.attribute_generation.fetch_add(1, std::memory_order_relaxed);
}

// Makes the next use of the attributes send a GETATTR. A reply that is in flight may have been made
// before what has shown the attributes to be wrong, and does not make them valid again (ATTR-9).
void InvalidateLocked(Superblock& superblock, Inode& inode) {
  DirectoryChange change(superblock, inode);
  AddValidityBits(inode, icache::kInvalidChange);
  inode.attribute_generation = Barrier(superblock);
}

void RestartLifetime(const Superblock& superblock, Inode& inode, uint64_t now_ns) {
  inode.lifetime_s.store(LifetimeMin_s(superblock, inode), std::memory_order_relaxed);
  inode.lifetime_since_ms = Milliseconds(now_ns);
}

// Doubles the lifetime of attributes that stayed unchanged for all of it (ATTR-3).
void GrowLifetime(const Superblock& superblock, Inode& inode, uint64_t now_ns) {
  const uint64_t lifetime_s = inode.lifetime_s.load(std::memory_order_relaxed);
  const uint32_t now_ms = Milliseconds(now_ns);
  if (now_ms - inode.lifetime_since_ms < 1000 * lifetime_s) return;
  const auto grown_s = std::min<uint64_t>(2 * lifetime_s, LifetimeMax_s(superblock, inode));
  inode.lifetime_s.store(static_cast<uint32_t>(grown_s), std::memory_order_relaxed);
  inode.lifetime_since_ms = now_ms;
}

// Returns a change id that no directory of the mount has had; greater than all before. A verifier
// of a moved dentry, or of a reused inode, can only match its own directory.
uint64_t NewChangeId(Superblock& superblock) { return Barrier(superblock); }

// Handles a change by another client: cached names, access rights and contents are invalid.
void NoteForeignChange(Superblock& superblock, Inode& inode, uint64_t now_ns) {
  DirectoryChange change(superblock, inode);
  if (inode.is_directory()) {
    inode.change_id.store(NewChangeId(superblock), std::memory_order_relaxed);
  }
  inode.access.Invalidate();
  RemoveValidityBits(inode, icache::kDataInUse);
  AddValidityBits(inode, icache::kInvalidData);
  RestartLifetime(superblock, inode, now_ns);
}

bool Has(const Inode& inode, uint8_t invalid_bits) {
  return (inode.cache_validity.load(std::memory_order_relaxed) & invalid_bits) != 0;
}

// i_size after a reply (nfs_update_inode()): a reply does not take away what was written here and
// that the server may still lose, or has not answered (ATTR-19).
uint64_t SizeAfterReply(const Inode& inode, uint64_t known_bytes, uint64_t reply_bytes) {
  return Has(inode, icache::kRetained) ? std::max(known_bytes, reply_bytes) : reply_bytes;
}

void StoreWords(Inode& inode, const Attributes& attributes) {
  inode.attributes_seq.WriteBegin();
  InodeAttributes::Store(inode, attributes);
  inode.attributes_seq.WriteEnd();
}

// Takes in what a reply showed, but for the size of a regular file: `size_bytes`. `is_barred`:
// `stamp` has the generation of a Barrier(), which is later than the request.
void StoreAttributes(Superblock& superblock, Inode& inode, Attributes attributes,
                     uint64_t size_bytes, SendStamp stamp, bool is_barred) {
  attributes.size_bytes = size_bytes;
  StoreWords(inode, attributes);
  SetFlag(superblock, inode, icache::kUnlinked, attributes.nlink == 0);
  inode.attribute_generation = stamp.generation;
  // Last: these two make walkers trust all of the above.
  inode.read_at_ns.store(stamp.sent_at_ns,
                         std::memory_order_release);  // pairs with AttributesFresh()
  constexpr uint8_t kReplaced = icache::kInvalidChange | icache::kBarred;
  inode.cache_validity.store(
      (inode.cache_validity.load(std::memory_order_relaxed) & ~kReplaced) |
          (is_barred ? icache::kBarred : 0),
      std::memory_order_release);  // pairs with AttributesFresh(), ReadLinkRcu()
}

// Preconditions: `known` is what the inode has.
void StoreSize(Inode& inode, Attributes known, uint64_t size_bytes) {
  known.size_bytes = size_bytes;
  StoreWords(inode, known);
}

ReplyContext ReplyContextOf(const Inode& inode) {
  return {.generation = inode.attribute_generation,
          .change_id = inode.change_id.load(std::memory_order_relaxed),
          .epoch = inode.access.epoch()};
}

// ContentChanged() of what the caches know and a reply. The size of a file that is written to here
// is not the server's.
bool ContentDiffers(const Inode& inode, const Attributes& known, Attributes reply) {
  if (Has(inode, icache::kRetained)) reply.size_bytes = known.size_bytes;
  return ContentChanged(known, reply);
}

// Takes in the reply to an older request than the one that the attributes came from: it may only
// invalidate (ATTR-9). What the last such reply has shown as well is no other change, and of a file
// that changes all the time some reply has to be taken in: replies to threads that ask at the same
// time would keep each other from being the latest for ever.
void CompareLate(Superblock& superblock, Inode& inode, const Attributes& known,
                 const Attributes& reply) {
  constexpr int kContradictionsMax = 4;
  const auto differs = [&](const Attributes& from) {
    return ContentDiffers(inode, from, reply) || OwnershipChanged(from, reply);
  };
  if (!differs(known)) return;
  int number = 1;
  if (Has(inode, icache::kInvalidChange)) {
    const auto last = superblock.contradictions.Find(inode.attribute_generation);
    if (last && (!differs(last->shown) || last->number == kContradictionsMax)) return;
    if (last) number = last->number + 1;
  }
  InvalidateLocked(superblock, inode);
  superblock.contradictions.Add(inode.attribute_generation, {reply, number});
}

// Whether the reply shows the inode in another file system than the one it has been in, where that
// is not believed: not before two replies in a row have shown it (ATTR-21).
bool IsForeign(Superblock& superblock, Inode& inode, const Attributes& known,
               const Attributes& reply) {
  if (reply.fsid == known.fsid) return false;
  if (Has(inode, icache::kInvalidChange)) {
    const auto last = superblock.contradictions.Find(inode.attribute_generation);
    if (last && last->shown.fsid == reply.fsid) return false;
  }
  InvalidateLocked(superblock, inode);
  superblock.contradictions.Add(inode.attribute_generation, {reply, 1});
  return true;
}

// Whether a reply to a change of our own is of the inode. One that is not is asked for.
bool IsOf(const Inode& inode, const Attributes& known, const Attributes& reply) {
  return reply.fileid == inode.fileid && reply.fsid == known.fsid;
}

// False if the change was made, or may have been.
bool WasRefused(std::errc outcome) { return outcome != std::errc{} && IsKnown(outcome); }

// True once the server has reused or dropped the handle. No later reply revalidates such an inode:
// RCU-walk would accept it while ref-walk answers ESTALE.
bool IsForgotten(const Inode& inode) {
  return (inode.flags.load(std::memory_order_relaxed) & icache::kStale) != 0;
}

void ExpireLocked(Superblock& superblock, Inode& inode) {
  InvalidateLocked(superblock, inode);
  inode.lifetime_s.store(LifetimeMin_s(superblock, inode), std::memory_order_relaxed);
}

void ForgetLocked(Superblock& superblock, Inode& inode) {
  NoteForeignChange(superblock, inode, rcu::CoarseNowNs());
  InvalidateLocked(superblock, inode);
}

}  // namespace

SendStamp Stamp(Superblock& superblock) {
  return {rcu::CoarseNowNs(),
          superblock.attribute_generation.fetch_add(1, std::memory_order_relaxed)};
}

bool CopyAttributesRcu(const Inode& inode, Attributes& into) {
  for (int i = 0; i < kCopyTries; ++i) {
    uint64_t seq = inode.attributes_seq.Begin();
    inode.LoadAttributes(into);
    if (!inode.attributes_seq.Changed(seq)) return true;
  }
  return false;
}

NeedRef CopyFreshAttributesRcu(const Superblock& superblock, const Inode& inode, uint64_t now_ns,
                               Attributes& into, uint8_t bits) {
  for (int i = 0; i < kCopyTries; ++i) {
    const uint64_t seq = inode.attributes_seq.Begin();
    if (!AttributesFresh(superblock, inode, now_ns, bits)) return NeedRef::kGetattrRpc;
    NFSWALK_SYNC_POINT("stat:before-attributes");
    inode.LoadAttributes(into);
    if (!inode.attributes_seq.Changed(seq)) return NeedRef::kNone;
  }
  return NeedRef::kChanged;
}

void CopyAttributes(Inode& inode, Attributes& into) {
  if (CopyAttributesRcu(inode, into)) return;
  std::lock_guard guard(inode.lock);
  inode.LoadAttributes(into);
}

bool ContentChanged(const Attributes& a, const Attributes& b) {
  return a.change != b.change || !SameWhenCached(a.ctime, b.ctime) ||
         !SameWhenCached(a.mtime, b.mtime) || a.size_bytes != b.size_bytes;
}

bool IsLatest(Inode& inode, const ReplyContext& context) {
  std::lock_guard guard(inode.lock);
  return context.generation != 0 && inode.attribute_generation == context.generation;
}

ReplyContext InitializeAttributes(Superblock& superblock, Inode& inode,
                                  const Attributes& attributes, SendStamp stamp) {
  inode.change_id.store(NewChangeId(superblock), std::memory_order_relaxed);
  StoreAttributes(superblock, inode, attributes, attributes.size_bytes, stamp, false);
  RestartLifetime(superblock, inode, stamp.sent_at_ns);
  if (!superblock.departed_inodes.MayBeOlder(inode.fileid, stamp.generation)) {
    return ReplyContextOf(inode);
  }
  InvalidateLocked(superblock, inode);
  return {};
}

std::errc UpdateAttributes(Superblock& superblock, Inode& inode, const Attributes& attributes,
                           SendStamp stamp, ReplyContext* context,
                           std::optional<uint64_t> own_end_bytes) {
  std::lock_guard guard(inode.lock);
  Notice notice(superblock, inode);
  if (IsForgotten(inode)) return protocol::kStale;
  if (attributes.fileid != inode.fileid ||
      attributes.type != inode.type.load(std::memory_order_relaxed)) {
    SetFlag(superblock, inode, icache::kStale, true);
    ForgetLocked(superblock, inode);
    notice.Set(InvalidReason::kStale);
    return protocol::kStale;
  }
  Attributes known;
  inode.LoadAttributes(known);
  if (IsForeign(superblock, inode, known, attributes)) return {};
  bool changed = ContentDiffers(inode, known, attributes);
  bool in_order = static_cast<int64_t>(stamp.generation - inode.attribute_generation) > 0;
  if (!in_order) {
    CompareLate(superblock, inode, known, attributes);
    return {};
  }
  uint64_t now = rcu::CoarseNowNs();
  const uint64_t sent = stamp.generation;
  bool had_expired = false;
  if (changed && Has(inode, icache::kOwnWrites)) {
    // Whose change it is turns out when our WRITEs have been answered (UpdateAfterOwnWrites()).
    if (OwnershipChanged(known, attributes)) InvalidateRights(superblock, inode);
  } else if (changed) {
    NoteForeignChange(superblock, inode, now);
    notice.Set(InvalidReason::kChanged);
    stamp.generation = Barrier(superblock);
  } else if (OwnershipChanged(known, attributes)) {
    InvalidateRights(superblock, inode);
    notice.Set(InvalidReason::kAttributes);
    stamp.generation = Barrier(superblock);
  } else {
    const uint64_t age_ns = stamp.sent_at_ns - inode.read_at_ns.load(std::memory_order_relaxed);
    had_expired = static_cast<int64_t>(age_ns) >= static_cast<int64_t>(LifetimeNs(inode));
    GrowLifetime(superblock, inode, now);
  }
  const uint64_t size_bytes =
      own_end_bytes ? std::max(attributes.size_bytes, *own_end_bytes)
                    : SizeAfterReply(inode, known.size_bytes, attributes.size_bytes);
  StoreAttributes(superblock, inode, attributes, size_bytes, stamp, stamp.generation != sent);
  if (context != nullptr) {
    *context = ReplyContextOf(inode);
    context->had_expired = had_expired;
  }
  return {};
}

uint64_t UpdateAfterOwnChange(Superblock& superblock, Inode& inode,
                              const protocol::WeakCacheConsistency& wcc, SendStamp stamp,
                              std::errc outcome) {
  if (WasRefused(outcome) && !wcc.before && !wcc.after) {
    return inode.change_id.load(std::memory_order_relaxed);
  }
  std::lock_guard guard(inode.lock);
  Notice notice(superblock, inode);
  Attributes known;
  inode.LoadAttributes(known);
  bool trusted =
      (inode.cache_validity.load(std::memory_order_relaxed) & icache::kInvalidChange) == 0;
  bool as_known = trusted && wcc.before && wcc.before->Matches(known);
  bool ours = as_known && wcc.atomic;
  // A racing GETATTR may have returned our own change before this reply arrived.
  bool already = trusted && wcc.after && !ContentDiffers(inode, known, *wcc.after);
  // True if what is known, or the reason why nothing is, came after this change was sent: the
  // reply may be older.
  const bool overtaken = static_cast<int64_t>(stamp.generation - inode.attribute_generation) < 0;
  stamp.generation = Barrier(superblock);  // no reply to an earlier request may undo our change
  AddValidityBits(inode, icache::kInvalidData);
  if (inode.is_directory()) RemoveValidityBits(inode, icache::kDataInUse);
  uint64_t change_id = inode.change_id.load(std::memory_order_relaxed);
  bool late = false;
  if (as_known && !ours && !already && inode.is_directory()) {
    // Not atomic: other names may have changed with ours; owner and mode are those of the reply.
    change_id = NewChangeId(superblock);
    SetChangeId(superblock, inode, change_id);
    notice.Set(InvalidReason::kChanged);
  } else if (!ours && !already) {
    NoteForeignChange(superblock, inode, rcu::CoarseNowNs());
    notice.Set(InvalidReason::kChanged);
    // The other client's change came before ours, or after it. After it, this reply is the older
    // one: it must neither restore attributes nor validate a name. Times tell no order (ATTR-5).
    late = overtaken;
    if (!late) change_id = inode.change_id.load(std::memory_order_relaxed);
  }
  if (late || !wcc.after || !IsOf(inode, known, *wcc.after) || IsForgotten(inode)) {
    InvalidateLocked(superblock, inode);
    return change_id;
  }
  if (OwnershipChanged(known, *wcc.after)) InvalidateRights(superblock, inode);
  StoreAttributes(superblock, inode, *wcc.after,
                  SizeAfterReply(inode, known.size_bytes, wcc.after->size_bytes), stamp, true);
  return change_id;
}

void UpdateAfterOwnWrites(Superblock& superblock, Inode& inode, ChangedBy changed_by,
                          const protocol::OptionalAttributes& latest, SendStamp since,
                          uint64_t own_end_bytes, uint8_t cleared) {
  const std::lock_guard guard(inode.lock);
  Notice notice(superblock, inode);
  Attributes known;
  inode.LoadAttributes(known);
  const bool overtaken = static_cast<int64_t>(since.generation - inode.attribute_generation) < 0;
  const bool is_latest = latest && !overtaken && IsOf(inode, known, *latest) && !IsForgotten(inode);
  since.generation = Barrier(superblock);  // no reply to an earlier request may undo our change
  if (changed_by == ChangedBy::kOthers) {
    NoteForeignChange(superblock, inode, rcu::CoarseNowNs());
    notice.Set(InvalidReason::kChanged);
  }
  if (changed_by != ChangedBy::kUs) cleared |= icache::kDataInUse;
  if (is_latest) {
    if (OwnershipChanged(known, *latest)) InvalidateRights(superblock, inode);
    StoreAttributes(superblock, inode, *latest, std::max(latest->size_bytes, own_end_bytes), since,
                    true);
  } else if (!overtaken || !latest || ContentChanged(known, *latest) ||
             OwnershipChanged(known, *latest)) {
    InvalidateLocked(superblock, inode);
  } else {
    inode.attribute_generation = since.generation;
  }
  const uint8_t validity = inode.cache_validity.load(std::memory_order_relaxed);
  inode.cache_validity.store(
      static_cast<uint8_t>(validity & ~cleared),
      std::memory_order_release);  // pairs with AttributesFresh(), HasValidityBits()
}

void GrowSize(Inode& inode, uint64_t end_bytes) {
  const std::lock_guard guard(inode.lock);
  Attributes known;
  inode.LoadAttributes(known);
  if (known.size_bytes < end_bytes) StoreSize(inode, known, end_bytes);
}

void CutSize(Inode& inode, uint64_t size_bytes) {
  const std::lock_guard guard(inode.lock);
  if (!Has(inode, icache::kInvalidChange)) return;
  Attributes known;
  inode.LoadAttributes(known);
  StoreSize(inode, known, size_bytes);
}

std::optional<uint64_t> KnownChangeAttribute(Inode& inode) {
  const std::lock_guard guard(inode.lock);
  if (Has(inode, icache::kInvalidChange)) return std::nullopt;
  Attributes known;
  inode.LoadAttributes(known);
  return known.change;
}

bool FollowsKnown(Inode& inode, const protocol::WeakCacheConsistency& wcc) {
  const std::lock_guard guard(inode.lock);
  if (!wcc.before) return true;
  if ((inode.cache_validity.load(std::memory_order_relaxed) & icache::kInvalidChange) != 0)
    return true;
  Attributes known;
  inode.LoadAttributes(known);
  return wcc.before->Matches(known) || (wcc.after && !ContentChanged(known, *wcc.after));
}

bool NoteDataInUse(Inode& inode) {
  constexpr uint8_t kBits = icache::kDataInUse | icache::kOwnWrites;
  if ((inode.cache_validity.load(std::memory_order_acquire) &  // pairs with SetValidityBits()
       kBits) == icache::kDataInUse) {
    return true;
  }
  const std::lock_guard guard(inode.lock);
  const bool was_in_use = Has(inode, icache::kDataInUse) && !Has(inode, icache::kOwnWrites);
  AddValidityBits(inode, icache::kDataInUse);
  return was_in_use;
}

bool IsNewerThan(Inode& inode, SendStamp stamp) {
  const std::lock_guard guard(inode.lock);
  return !Has(inode, icache::kInvalidChange | icache::kBarred) &&
         static_cast<int64_t>(inode.attribute_generation - stamp.generation) > 0;
}

void SetValidityBits(Inode& inode, uint8_t bits, bool on) {
  const std::lock_guard guard(inode.lock);
  const uint8_t validity = inode.cache_validity.load(std::memory_order_relaxed);
  inode.cache_validity.store(
      static_cast<uint8_t>(on ? validity | bits : validity & ~bits),
      std::memory_order_release);  // pairs with AttributesFresh(), HasValidityBits()
}

void BeginDelegation(Superblock& superblock, Inode& inode, const ReplyContext& context) {
  const std::lock_guard guard(inode.lock);
  const bool is_latest =
      context.generation != 0 && inode.attribute_generation == context.generation;
  const DirectoryChange change(superblock, inode);
  // A request that was sent before the reply may have been executed before the grant: its reply is
  // compared, and cannot make a delegated file valid as it was then.
  inode.attribute_generation = Barrier(superblock);
  AddValidityBits(inode, static_cast<uint8_t>(icache::kDelegated | icache::kBarred |
                                              (is_latest ? 0 : icache::kInvalidChange)));
}

void RestDelegation(Superblock& superblock, Inode& inode) {
  const DirectoryChange change(superblock, inode);  // walks look at the directory again
  SetValidityBits(inode, icache::kDelegated, false);
}

void GoOnDelegation(Inode& inode) { SetValidityBits(inode, icache::kDelegated, true); }

void EndDelegation(Superblock& superblock, Inode& inode) {
  const std::lock_guard guard(inode.lock);
  const DirectoryChange change(superblock, inode);
  // One store: no reader finds neither of the two.
  const uint8_t validity = inode.cache_validity.load(std::memory_order_relaxed);
  inode.cache_validity.store(
      static_cast<uint8_t>((validity & ~icache::kDelegated) | icache::kInvalidChange),
      std::memory_order_release);  // pairs with AttributesFresh(), IsDelegated()
  inode.attribute_generation = Barrier(superblock);
  if (inode.is_directory()) {
    superblock.delegation_ends.fetch_add(
        1,
        std::memory_order_release);  // pairs with RcuWalk::Confirm()
  }
}

void InvalidateAttributes(Superblock& superblock, Inode& inode) {
  std::lock_guard guard(inode.lock);
  ExpireLocked(superblock, inode);
}

void InvalidateAll(Superblock& superblock) {
  superblock.departed_inodes.NoteAll(Barrier(superblock));
  superblock.inodes->IterInodes({}, [&superblock](Inode& inode) {
    InvalidateAttributes(superblock, inode);
    InvalidateRights(superblock, inode);
    return icache::IterStep::kNext;
  });
  superblock.invalidations.PostEverything();
}

void DropLink(Superblock& superblock, Inode& inode) {
  {
    std::lock_guard guard(inode.lock);
    Attributes known;
    inode.LoadAttributes(known);
    // The count stays the server's: a stat must not pair another one with the ctime of this
    // (WALK-14).
    if (known.nlink <= 1 || inode.is_directory()) {
      SetFlag(superblock, inode, icache::kUnlinked, true);
    }
    ExpireLocked(superblock, inode);
  }
  if (inode.is_directory()) GiveUpDelegation(superblock, inode);
}

void MarkStale(Superblock& superblock, Inode& inode) {
  {
    std::lock_guard guard(inode.lock);
    Notice notice(superblock, inode);
    notice.Set(InvalidReason::kStale);
    if (!inode.is_directory()) SetFlag(superblock, inode, icache::kStale, true);
    ForgetLocked(superblock, inode);
  }
  GiveUpDelegation(superblock, inode);
}

}  // namespace nfswalk::nfs
