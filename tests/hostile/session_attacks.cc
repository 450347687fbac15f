// Attacks on clients of NFSv4.1: those on version 4.0 once more inside a session, and those on what
// a session is made and kept by (RFC 8881 2.10, 18.35, 18.36, 18.46).
#include <cstddef>
#include <utility>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/attack.h"

namespace nfswalk::hostile {
namespace {

constexpr int kOpExchangeId = 42;
constexpr int kOpCreateSession = 43;
constexpr int kOpSequence = 53;
constexpr int kOpReclaimComplete = 58;

// SEQUENCEs that a mount sends: with the lease, RECLAIM_COMPLETE, the root and the limits.
constexpr int kSequencesOfMount = 4;

constexpr size_t kBodyBytes = 8;  // begins behind the operation's number and its status

Attack On(int operation, std::string name, Forge forge) {
  return {.name = std::move(name),
          .version = 4,
          .minor_version = 1,
          .operations = {operation},
          .forge = std::move(forge)};
}

// The result with another word so many bytes behind the status.
Forge Word(size_t at_bytes, uint32_t word) {
  return [at = kBodyBytes + at_bytes, word](std::string good) {
    if (good.size() >= at + 4) good.replace(at, 4, Xdr().U32(word).str());
    return good;
  };
}
Forge Short(size_t left_bytes) {
  return [left_bytes](const std::string& good) { return good.substr(0, kBodyBytes + left_bytes); };
}
Forge Body(const Xdr& body) {
  return
      [bytes = body.str()](const std::string& good) { return good.substr(0, kBodyBytes) + bytes; };
}

std::vector<Attack> SequenceAttacks() {
  enum At : size_t {
    kSession = 0,
    kSequence = 16,
    kSlot = 20,
    kHighest = 24,
    kTarget = 28,
    kFlags = 32
  };
  std::vector<Attack> attacks = {
      On(kOpSequence, "SessionOfAnother", Word(kSession, 0x5a5a5a5a)),
      On(kOpSequence, "SequenceZero", Word(kSequence, 0)),
      On(kOpSequence, "SequenceHuge", Word(kSequence, ~0u)),
      On(kOpSequence, "SlotHuge", Word(kSlot, ~0u)),
      On(kOpSequence, "HighestSlotZero", Word(kHighest, 0)),
      On(kOpSequence, "HighestSlotHuge", Word(kHighest, ~0u)),
      On(kOpSequence, "TargetSlotZero", Word(kTarget, 0)),
      On(kOpSequence, "TargetSlotHuge", Word(kTarget, ~0u)),
      On(kOpSequence, "EachStatusFlag", Word(kFlags, ~0u)),
      On(kOpSequence, "StateIsRevokedForEver", Word(kFlags, 0x30)),
      On(kOpSequence, "StateIsLostForEver", Word(kFlags, 0x108)),
      On(kOpSequence, "CallbacksFailForEver", Word(kFlags, 0x601)),
      On(kOpSequence, "SequenceCutShort", Short(30)),
      On(kOpSequence, "SequenceWithNothing", Short(0)),
  };
  for (size_t i = 0; i < 4; ++i) {  // the reply is that to another call
    attacks[i].after = kSequencesOfMount;
    attacks[i].ending = Ending::kFails;
    attacks[i].errors = {std::errc::io_error};
  }
  // None of these is an error.
  for (Attack& attack : attacks) {
    const bool is_well_formed = attack.name.starts_with("Highest") ||
                                attack.name.starts_with("Target") ||
                                attack.name.starts_with("Callbacks");
    if (is_well_formed) attack.ending = Ending::kServed;
  }
  return attacks;
}

std::vector<Attack> SetUpAttacks() {
  // Client id, sequence, flags, protection.
  const auto exchanged = [](uint32_t protection) { return Xdr().U64(77).U32(1, 0, protection); };
  constexpr size_t kFore = 16 + 2 * 4, kSlots = kFore + 5 * 4;
  std::vector<Attack> attacks = {
      On(kOpExchangeId, "ProtectionOfAnotherKind", Body(exchanged(2))),
      On(kOpExchangeId, "ServerOwnerOfTwoGiB", Body(exchanged(0).U64(0).U32(kHugeBytes))),
      On(kOpExchangeId, "ServerOwnerOfAMiB",
         Body(exchanged(0).U64(0).Bytes(std::string(kMiB, 'o')).Bytes("").U32(0))),
      On(kOpExchangeId, "ScopeOfTwoGiB", Body(exchanged(0).U64(0).Bytes("o").U32(kHugeBytes))),
      On(kOpExchangeId, "ImplementationsHuge",
         Body(exchanged(0).U64(0).Bytes("o").Bytes("s").U32(~0u))),
      On(kOpExchangeId, "ExchangeCutShort", Short(10)),
      On(kOpExchangeId, "ExchangeIsConfirmed", Word(12, ~0u)),
      On(kOpCreateSession, "SessionWithoutSlots", Word(kSlots, 0)),
      On(kOpCreateSession, "SessionOfManySlots", Word(kSlots, ~0u)),
      On(kOpCreateSession, "SessionOfNoRequest", Word(kFore + 4, 0)),
      On(kOpCreateSession, "SessionOfNoResponse", Word(kFore + 8, 0)),
      On(kOpCreateSession, "SessionOfHugeResponses", Word(kFore + 8, ~0u)),
      On(kOpCreateSession, "SessionThatCachesNothing", Word(kFore + 12, 0)),
      On(kOpCreateSession, "SessionWithoutOperations", Word(kFore + 16, 0)),
      On(kOpCreateSession, "SessionOfTwoOperations", Word(kFore + 16, 2)),
      On(kOpCreateSession, "SessionWithAHugeArray", Word(kFore + 24, ~0u)),
      On(kOpCreateSession, "SessionCutShort", Short(40)),
  };
  for (Attack& attack : attacks) attack.timeout = MountTimeout::kMount;
  return attacks;
}

std::vector<Attack> StatusAttacks() {
  struct Row {
    const char* name;
    int operation;
    int status;
    int after = 0;
    MountTimeout timeout = MountTimeout::kSilence;
  };
  constexpr auto kMount = MountTimeout::kMount;
  std::vector<Attack> attacks;
  for (const auto& [name, operation, status, after, timeout] : std::vector<Row>{
           {"SequenceDelayForEver", kOpSequence, NFS4ERR_DELAY, kSequencesOfMount},
           {"SequenceBadSessionForEver", kOpSequence, 10052, kSequencesOfMount},
           {"SequenceBadSlotForEver", kOpSequence, 10053, kSequencesOfMount},
           {"SequenceNotBoundForEver", kOpSequence, 10055, kSequencesOfMount},
           {"SequenceMisorderedForEver", kOpSequence, 10063, kSequencesOfMount},
           {"SequenceTooBigForEver", kOpSequence, 10065, kSequencesOfMount},
           {"SequenceUncachedForEver", kOpSequence, 10068, kSequencesOfMount},
           {"SequenceFalseRetryForEver", kOpSequence, 10076, kSequencesOfMount},
           {"SequenceBadHighSlotForEver", kOpSequence, 10077, kSequencesOfMount},
           {"SequenceDeadSessionForEver", kOpSequence, 10078, kSequencesOfMount},
           {"SequenceStatusHuge", kOpSequence, 0x7fffffff, kSequencesOfMount},
           {"MountSequenceDelayForEver", kOpSequence, NFS4ERR_DELAY, 0, kMount},
           {"MountSequenceBadSessionForEver", kOpSequence, 10052, 0, kMount},
           {"MountSequenceMisorderedForEver", kOpSequence, 10063, 0, kMount},
           {"ExchangeDelayForEver", kOpExchangeId, NFS4ERR_DELAY, 0, kMount},
           {"ExchangeInUseForEver", kOpExchangeId, NFS4ERR_CLID_INUSE, 0, kMount},
           {"CreateSessionStaleForEver", kOpCreateSession, NFS4ERR_STALE_CLIENTID, 0, kMount},
           {"CreateSessionMisorderedForEver", kOpCreateSession, 10063, 0, kMount},
           {"ReclaimCompleteDelayForEver", kOpReclaimComplete, NFS4ERR_DELAY, 0, kMount},
           {"ReclaimCompleteFails", kOpReclaimComplete, NFS4ERR_SERVERFAULT, 0, kMount},
       }) {
    Attack attack = On(operation, name, nullptr);
    attack.status = status;
    attack.after = after;
    attack.timeout = timeout;
    attacks.push_back(std::move(attack));
  }
  return attacks;
}

// Returns whether the attack is on an operation that no client in a session calls.
bool IsOfVersion40(const Attack& attack) {
  return attack.operations.contains(OP_SETCLIENTID) ||
         attack.operations.contains(OP_SETCLIENTID_CONFIRM);
}

}  // namespace

std::vector<Attack> InSession(std::vector<Attack> attacks) {
  std::erase_if(attacks, [](const Attack& attack) {
    return attack.version != 4 || attack.service != Service::kNfs || IsOfVersion40(attack);
  });
  for (Attack& attack : attacks) {
    attack.minor_version = 1;
    // The lease of the session is one more question for attributes of the server.
    if (attack.operations == std::set<int>{OP_GETATTR} && attack.after > 0) ++attack.after;
    // It has executed what it denies, and answers the next call in that slot as a repetition.
    if (attack.tamper != nullptr) attack.errors.push_back(std::errc::io_error);
  }
  return attacks;
}

std::vector<Attack> SessionAttacks() {
  std::vector<Attack> all;
  for (const auto& attacks : {SequenceAttacks(), SetUpAttacks(), StatusAttacks()}) {
    all.insert(all.end(), attacks.begin(), attacks.end());
  }
  return all;
}

}  // namespace nfswalk::hostile
