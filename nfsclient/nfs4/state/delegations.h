// delegations: what a server has promised: to call before another client opens a file to write,
// changes or removes it, or changes a directory, and to let that wait until the delegation is
// returned (RFC 8881 10.4, 10.9). Of files only those for reading are asked for.
//
// Each ends once: by a recall, with all others (EndAll()), or by its holder. The holder is told,
// and answers nothing from it from then on; that it is destroyed returns it to the server. So what
// is answered from it is answered before DELEGRETURN is sent.
//
//   a recall (RFC 8881 20.2) of ...            then
//   one that is held                           it ends; NFS4_OK
//   one that has ended, and is being returned  NFS4_OK
//   another: its OPEN's reply may be on its    it is kept in mind, so that Take() finds it ended;
//     way                                        NFS4ERR_BAD_STATEID, and the server may ask again
//   the same once more: the OPEN was given up  it is returned by its state id; NFS4ERR_BAD_STATEID
//
// One whose return got no answer is returned by the thread of the lease.
//
// All end where the server may have revoked some, or its call may have been lost: with the session,
// the client id, the connection that the server calls over, and by SEQUENCE's status flags. What
// was asked for before that and is granted afterwards has ended, too.
//
// Thread safety: all functions. What ends some calls `on_end` of each with a lock held, as
// EndIdle() calls `was_used`, and may be called while locks of rpc/ are held.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_DELEGATIONS_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_DELEGATIONS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/state_id.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/transport_stats.h"
#include "nfsclient/rpc/caller.h"

namespace nfswalk::protocol {

// In a shared_ptr: every Delegation shares it.
class Delegations : public std::enable_shared_from_this<Delegations> {
 public:
  // Limit of recalls kept in mind of what is not held; the oldest is forgotten, and the server
  // revokes it where it does not ask again.
  static constexpr size_t kEarlyMax = 64;

  // The generation of the current client id (lease.h).
  using CurrentGeneration = std::function<uint64_t()>;

  // `note_left` has ReturnLeft() called until it returns false; it may be called while locks of
  // rpc/ are held. `caller` must outlive it, unless Stop() was called.
  Delegations(rpc::Caller& caller, CurrentGeneration current, std::function<void()> note_left)
      : caller_(caller), current_(std::move(current)), note_left_(std::move(note_left)) {}

  // Limits of those that are held, and of those that have not been of use yet: to scan a tree once
  // is not to cost more than without them.
  static constexpr size_t kHeldMax = 10'000;
  static constexpr size_t kUnusedMax = 1'000;
  // Limit of directories among those that are held.
  static constexpr size_t kDirectoriesMax = kHeldMax / 2;

  // Whether one is to be asked for.
  bool Wants(AskDelegation ask) const;
  bool WantsDirectory() const {
    return count_.load() < kHeldMax && directories_.load() < kDirectoriesMax;
  }
  // Advances with each EndAll(). Taken before an OPEN that asks for one is sent, and before it is
  // known that the server can call.
  uint64_t epoch() const { return epoch_.load(); }
  // Takes one that an OPEN of `epoch` was granted: it may have ended by now. Null, with nothing to
  // be returned, if a server grants what is held already.
  std::unique_ptr<Delegation> Take(const DelegationGrant& grant, uint64_t epoch,
                                   uint64_t generation, const FileHandle& file,
                                   const Credential& credential);
  void NoteRefused() { ++refused_; }

  // CB_RECALL. Returns the nfsstat4.
  uint32_t Recall(const StateId& state, const FileHandle& file);
  // CB_RECALL_ANY (RFC 8881 20.6): the oldest of these kinds end, until no more than that are left.
  void RecallAny(size_t kept_max, bool of_files, bool of_directories);
  void EndAll();
  // Ends those that have not been of use since the last call but one, or that their holder says are
  // not.
  void EndIdle();
  // Returns those that are left to be. True if some still are.
  bool ReturnLeft(rpc::Caller::Budget& budget);
  // From now on nothing is returned. Does not block.
  void Stop() { stopped_.store(true); }

  DelegationStats stats() const;

 private:
  class Held;
  using Other = std::array<char, 12>;
  // Preconditions: mutex_.
  void End(Held& held);
  void Return(Held& held);
  struct Left {
    StateId state;
    FileHandle file;
    Credential credential;
    uint64_t generation = 0;  // 0: of one that is not known
  };
  bool TryReturn(const Left& left, rpc::Caller::Budget& budget);
  void Leave(Left left);

  rpc::Caller& caller_;
  const CurrentGeneration current_;
  const std::function<void()> note_left_;
  std::atomic<bool> stopped_{false};
  std::atomic<uint64_t> epoch_{0};
  std::atomic<size_t> count_{0};   // of held_
  std::atomic<size_t> unused_{0};  // of them, those of files that were never of use
  std::atomic<size_t> directories_{0};
  std::atomic<uint64_t> granted_{0}, refused_{0}, recalled_{0}, returned_{0}, revoked_{0};

  mutable std::mutex mutex_;
  // This and below: guarded by mutex_.
  std::map<Other, Held*> held_;
  std::list<Held*> unended_;  // the oldest is first
  std::deque<Other> early_;
  std::vector<Left> left_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_DELEGATIONS_H_
