// session_slots: the slots of an NFSv4.1 session (RFC 8881 2.10.6) that one connection sends on,
// and the heads of COMPOUNDs.
//
// The connections of a mount share its session: slot n belongs to connection n modulo their number,
// so that none waits for another.
//
// Invariants:
//   1. A slot has one call at most, from its first transmission to its reply, over however many
//      connections of TCP. The call has the same bytes each time: the server executes it once.
//   2. `sequence` is what the next call sends. It is one more after a reply whose SEQUENCE the
//      server has executed, and only then.
//   3. A call that ended without a reply leaves its slot unsettled: the server may have executed
//      `sequence`, or may yet. Its late reply tells; else the slot is used when no other is free,
//      with sequence + 1. A server that refuses that (NFS4ERR_SEQ_MISORDERED) has not executed the
//      call, or has not ended it: nothing can be sent in the slot any more, and the session ends.
//   4. A server may forget the slots above what it is told is in use, if it wants no more of them;
//      the first of each connection is told to be. A number is never begun anew for that: a server
//      that has forgotten a slot, and uses it again, either takes any number, or refuses this one,
//      and the session ends.
//
// Thread safety: none; guarded by the connection's mutex.
#ifndef NFSWALK_NFSCLIENT_RPC_SESSION_SLOTS_H_
#define NFSWALK_NFSCLIENT_RPC_SESSION_SLOTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "nfsclient/rpc/xdr_reader.h"

namespace nfswalk::rpc {

// A session, as CREATE_SESSION granted it.
struct Session {
  static constexpr uint32_t kSlotsMax = 64;

  std::array<char, 16> id{};
  uint64_t generation = 0;  // of the sessions of a mount
  uint32_t slots = 0;       // at most kSlotsMax
  // Shared by all connections: a bit a slot that has a call, or is unsettled; the highest slot that
  // the server wants used, which any thread may set; the status flags of its last reply.
  mutable std::atomic<uint64_t> slots_in_use{0};
  mutable std::atomic<uint32_t> highest{kSlotsMax};
  mutable std::atomic<uint32_t> status_flags{0};
  // Called once a reply says that the session has ended, and for each reply that has status flags
  // (sr_status_flags of SEQUENCE); `added`: those that the last reply did not have.
  // Run under a connection's mutex: they must neither block nor call.
  std::function<void(uint64_t generation)> on_end;
  std::function<void(uint64_t generation, uint32_t status_flags, uint32_t added)> on_status;
};

// Tag, minor version, number of operations; SEQUENCE.
inline constexpr size_t kSequenceBytes = 4 + 16 + 4 * 4;
inline constexpr size_t kCompoundHeadBytesMax = 3 * 4 + kSequenceBytes;
// SEQUENCE's result behind its status.
inline constexpr size_t kSequenceResultBytes = 16 + 5 * 4;
inline constexpr uint32_t kOpSequence = 53;

// nfsstat4 of SEQUENCE (RFC 8881 15.1.11): of the COMPOUND nothing else was executed then.
enum SequenceError : uint32_t {
  kBadSession = 10052,
  kBadSlot = 10053,
  kConnNotBoundToSession = 10055,
  kSeqMisordered = 10063,
  kRetryUncachedRep = 10068,  // it was, at an earlier transmission
  kSeqFalseRetry = 10076,
  kBadHighSlot = 10077,
  kDeadSession = 10078,
};
bool IsSequenceError(uint32_t nfsstat4);

// Skips the status, the tag and the number of results of COMPOUND4res.
void SkipCompoundHead(XdrReader& results);
// The result of SEQUENCE.
struct SequenceResult {
  static constexpr uint32_t kOk = 0;         // NFS4_OK
  static constexpr uint32_t kDelay = 10008;  // NFS4ERR_DELAY

  uint32_t status = kOk;  // nfsstat4
  // If that is NFS4_OK.
  std::array<char, 16> session{};
  uint32_t sequence = 0;
  uint32_t slot = 0;
  uint32_t highest_slot = 0;
  uint32_t target_highest_slot = 0;
  uint32_t status_flags = 0;
};
// Reads it. nullopt: the results begin with another, or with none.
std::optional<SequenceResult> ReadSequence(XdrReader& results);

class SessionSlots {
 public:
  struct Taken {
    uint64_t generation = 0;
    size_t index = 0;
    uint32_t sequence = 0;
    uint32_t slot = 0;
    std::array<char, 16> session{};
  };

  // Begins to use `session`: the slots `first`, `first` + `stride`, ... Preconditions: it has
  // `first`.
  void Open(std::shared_ptr<const Session> session, uint32_t first, uint32_t stride);
  // Ends the use of that session, for new calls.
  void Close(uint64_t generation);
  bool is_open() const { return session_ != nullptr; }
  bool Has(const Taken& taken) const {
    return session_ != nullptr && session_->generation == taken.generation;
  }

  // One is reserved, if there are several: for the calls that keep the session, which others that
  // the server does not answer would hold up.
  bool CanTake(bool may_be_reserved = false);
  // Takes a slot for the call with this xid: the lowest. Preconditions: CanTake().
  Taken Take(uint32_t xid);
  // Writes SEQUENCE (RFC 8881 18.46). Preconditions: Has(taken).
  void Encode(const Taken& taken, bool is_cached, std::span<std::byte> at) const;
  // Returns whether it is that of the call, which names session, slot and number: a server that has
  // mixed up its replies answers with that of another.
  static bool IsOf(const Taken& taken, const SequenceResult& result);
  // Takes the result of the call's SEQUENCE; nullopt: the reply has none, which leaves it
  // unsettled.
  // `was_resent`: an earlier transmission may be executed still.
  void Answer(const Taken& taken, const std::optional<SequenceResult>& result,
              bool was_resent = false);
  // The call ends without a reply. `was_sent`: else the server never saw it.
  void Leave(const Taken& taken, bool was_sent);
  // A reply that no call waits for.
  void TakeLate(uint32_t xid, XdrReader& results);

 private:
  enum class State : uint8_t { kFree, kTaken, kUnsettled };
  struct Slot {
    uint32_t sequence = 1;
    State state = State::kFree;
    bool is_probe = false;  // its call was sent with sequence + 1
    uint32_t xid = 0;
  };

  uint32_t IdOf(size_t index) const { return first_ + stride_ * static_cast<uint32_t>(index); }
  bool MayUse(size_t index) const { return index == 0 || IdOf(index) <= highest_; }
  std::optional<size_t> Lowest(State state) const;
  void SetState(size_t index, State state);
  void TakeResult(size_t index, const SequenceResult& result, bool was_resent);

  void End();

  std::shared_ptr<const Session> session_;  // null: closed
  uint32_t first_ = 0;
  uint32_t stride_ = 1;
  // The session's when CanTake() looked: another thread may lower that before Take().
  uint32_t highest_ = 0;

  size_t count_ = 0;
  std::array<Slot, Session::kSlotsMax> slots_;
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_SESSION_SLOTS_H_
