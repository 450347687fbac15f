// callback_slots: the slots of a session's back channel, with the replies that are kept (RFC 8881
// 2.10.6.1, 20.9): the server's calls are executed once however often they are sent.
//
// Invariants:
//   1. A slot's `sequence` is that of the last call that was executed in it, 0 for none.
//   2. A call with that sequence is answered as the last one was; one with the next is executed;
//      all others are refused, and change nothing.
//
// Thread safety: none.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_CALLBACK_SLOTS_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_CALLBACK_SLOTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nfswalk::protocol {

class CallbackSlots {
 public:
  static constexpr uint32_t kSlots = 16;

  struct Request {
    uint32_t slot = 0;
    uint32_t sequence = 0;
  };
  enum class Verdict : uint8_t {
    kExecute,
    kReplay,      // see Kept()
    kBadSlot,     // NFS4ERR_BADSLOT
    kMisordered,  // NFS4ERR_SEQ_MISORDERED
  };
  Verdict Examine(const Request& request) const {
    if (request.slot >= kSlots) return Verdict::kBadSlot;
    const uint32_t last = slots_[request.slot].sequence;
    if (request.sequence == last + 1) return Verdict::kExecute;
    const bool is_last = request.sequence == last && !slots_[request.slot].reply.empty();
    return is_last ? Verdict::kReplay : Verdict::kMisordered;
  }
  // Keeps the reply to a call that is kExecute. Throws std::bad_alloc, and has changed nothing.
  void Keep(const Request& request, std::span<const std::byte> reply) {
    std::vector<std::byte> kept(reply.begin(), reply.end());
    slots_[request.slot] = {request.sequence, std::move(kept)};
  }
  std::span<const std::byte> Kept(const Request& request) const {
    return slots_[request.slot].reply;
  }

 private:
  struct Slot {
    uint32_t sequence = 0;
    std::vector<std::byte> reply;
  };
  std::array<Slot, kSlots> slots_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_CALLBACK_SLOTS_H_
