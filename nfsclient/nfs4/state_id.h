// state_id: state ids and the arguments of OPEN and LOCK (RFC 7530 9).
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_ID_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_ID_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nfsclient/protocol/byte_range.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

// stateid4 (RFC 7530 9.1.4). All zeros: the anonymous state id, for I/O without an OPEN.
struct StateId {
  uint32_t sequence = 0;
  std::array<char, 12> other{};
  friend bool operator==(const StateId&, const StateId&) = default;
};

// OPEN4args (RFC 7530 16.16, RFC 8881 18.16). The current file handle is the directory, or the
// file, as the claim has it.
struct OpenArguments {
  // kExclusiveWithAttributes: EXCLUSIVE4_1, in sessions.
  enum class How : uint8_t {
    kNoCreate,
    kUnchecked,
    kGuarded,
    kExclusive,
    kExclusiveWithAttributes,
  };
  enum class Claim : uint8_t {
    kName,      // CLAIM_NULL: `name` in the directory
    kFile,      // CLAIM_FH, in sessions: the file
    kPrevious,  // CLAIM_PREVIOUS: the file, after a restart of the server
  };

  uint32_t sequence = 0;  // of the owner
  uint64_t client_id = 0;
  std::string_view owner;
  bool read = false;
  bool write = false;
  How how = How::kNoCreate;
  SetAttributes attributes = {};    // of what is created, but for kExclusive
  uint64_t exclusive_verifier = 0;  // kExclusive, kExclusiveWithAttributes
  Claim claim = Claim::kName;
  std::string_view name;
  // As can be said from version 4.1 on.
  enum class Delegation : uint8_t { kNotSaid, kNone, kRead };
  Delegation delegation = Delegation::kNotSaid;
};

// LOCK4args (RFC 7530 16.10).
struct LockArguments {
  RangeLock lock;
  bool reclaim = false;
  StateId state;          // of the lock-owner; of the open file if `first`
  uint32_t sequence = 0;  // of the lock-owner
  // open_to_lock_owner4: names a new lock-owner.
  bool first = false;
  uint32_t open_sequence = 0;  // of the open-owner
  uint64_t client_id = 0;
  std::string_view owner;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_ID_H_
