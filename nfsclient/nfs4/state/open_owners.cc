#include "nfsclient/nfs4/state/open_owners.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/state/state_error.h"
#include "nfsclient/nfs4/state/state_id_calls.h"
#include "nfsclient/nfs4/status.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {
namespace {

// Limit of OPENs repeated because of BAD_SEQID or BAD_STATEID.
constexpr int kRestartsMax = 4;

bool IsBadSeqidOrStateid(int status) {
  const StateError state_error = StateErrorOf(status);
  return state_error == StateError::kOwner || state_error == StateError::kState;
}

Acquired Refused(int status) {
  Acquired refused = Failure<Acquired>(ErrnoOfStatus4(status));
  refused.status = status;
  return refused;
}

bool IsWait(int status) { return StateErrorOf(status) == StateError::kWait; }

// Judges the status of an OPEN_CONFIRM or CLOSE that settles. EXPIRED is of the state id, which is
// gone, as it was to be.
StateError RestartOf(int status) {
  const StateError state_error = StateErrorOf(status);
  return state_error == StateError::kServerRestart ? state_error : StateError::kNone;
}

}  // namespace

void OpenOwner::Executed(int nfsstat4) {
  if (AdvancesSequence(nfsstat4)) ++sequence;
  if (StateErrorOf(nfsstat4) == StateError::kOwner) usable = false;
}

struct OpenOwners::SequencedReply {
  // No reply (errors of rpc/retry.h), or a malformed one (io_error).
  std::errc error{};
  // nfsstat4 if error is errc{}.
  int status = 0;
  // The operation with the sequence number was executed, with any status.
  bool executed = false;
  StateId state;  // OPEN_CONFIRM

  // Sets status and error after the sequenced operation. `done`: it succeeded and was decoded.
  void SetStatus(const CompoundReader& reader, bool done) {
    if (done) return;
    status = reader.status();
    if (status == NFS4_OK) error = std::errc::io_error;
  }
};

struct OpenOwners::OpenedReply : SequencedReply {
  bool is_open = false;  // the members below are valid, as far as sent
  OpenGrant grant;
  std::optional<FileHandle> handle;
  OptionalAttributes attributes;
  std::optional<uint32_t> granted;  // as in OpenReply
  OptionalAttributes directory;  // after the OPEN
};

OpenOwner OpenOwners::Take(const Credential& credential, uint64_t generation) {
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [&](const OpenOwner& owner) { return owner.generation < generation; });
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const OpenOwner& owner) {
    return owner.generation == generation && owner.credential == credential;
  });
  if (found == idle_.rend()) {
    return {.name = "nfswalk " + std::to_string(next_name_++),
            .generation = generation,
            .credential = credential};
  }
  OpenOwner owner = std::move(*found);
  idle_.erase(std::next(found).base());
  return owner;
}

void OpenOwners::Put(OpenOwner owner) {
  if (!owner.usable) return;
  const std::lock_guard lock(mutex_);
  if (idle_.size() >= kIdleMax) idle_.erase(idle_.begin());
  idle_.push_back(std::move(owner));
}

// Sends a call with the owner's number. No status is retried here: most advance the sequence, DELAY
// and GRACE too.
template <typename Reply, typename Decode>
Reply OpenOwners::Send(OpenOwner& owner, Compound& compound, Budget& budget, Decode decode) {
  Reply reply = CallCompound<Reply>(caller_, compound, owner.credential, budget, decode);
  if (reply.error == kOk && reply.executed) owner.Executed(reply.status);
  return reply;
}

OpenOwners::OpenedReply OpenOwners::SendOpen(OpenOwner& owner, const FileHandle& at,
                                             OpenArguments arguments, bool owners_as_names,
                                             Budget& budget) {
  arguments.owner = owner.name;
  arguments.sequence = owner.sequence;
  using Asked = OpenArguments::Delegation;
  if (caller_.has_sessions() && arguments.delegation == Asked::kNotSaid) {
    arguments.delegation = Asked::kNone;
  }
  Compound compound;
  if (owners_as_names) compound.SendOwnersAsNames(names_);
  using Claim = OpenArguments::Claim;
  const bool is_by_name = arguments.claim == Claim::kName;
  // Who creates a file, or reclaims one, does not need its rights.
  const bool asks_access =
      arguments.how == OpenArguments::How::kNoCreate && arguments.claim != Claim::kPrevious;
  compound.PutHandle(at).SaveHandle().Open(arguments);
  if (is_by_name) compound.GetHandle();
  compound.GetAttributes();
  if (asks_access) compound.Access(kAccessAll);  // in the order of Nfs4::Access()
  if (is_by_name) compound.RestoreHandle().GetAttributes();
  return Send<OpenedReply>(owner, compound, budget,
                           [&](CompoundReader& reader, OpenedReply& reply) {
                             reply.executed = reader.Next(OP_PUTFH) && reader.Next(OP_SAVEFH);
                             reply.is_open = TakeOpen(reader, reply.grant);
                             // Its latest, always (RFC 8881 8.2.2).
                             if (caller_.has_sessions()) {
                               reply.grant.state.sequence = 0;
                               if (reply.grant.delegation)
                                 reply.grant.delegation->state.sequence = 0;
                             }
                             reply.SetStatus(reader, reply.is_open);
                             // The file is open: later failures leave parts of the reply out.
                             FileHandle handle = at;
                             if (!is_by_name || TakeHandle(reader, handle)) reply.handle = handle;
                             reply.attributes = TakeOptionalAttributes(reader, names_);
                             uint32_t access = 0;
                             if (asks_access && TakeAccess(reader, access)) reply.granted = access;
                             if (is_by_name && reader.Next(OP_RESTOREFH))
                               reply.directory = TakeOptionalAttributes(reader, names_);
                           });
}

// Sends it again, by its number, while the reply has no handle: by its name another file may be
// found by now.
OpenOwners::OpenedReply OpenOwners::SendOpenForHandle(OpenOwner& owner, const FileHandle& at,
                                                      const OpenArguments& arguments,
                                                      bool owners_as_names, Budget& budget) {
  OpenArguments sent = arguments;
  uint64_t attributes_set = 0;  // by the one that made the file
  std::optional<DelegationGrant> delegation;  // that came without a handle to return it by
  for (int restarts = 0;; ++restarts) {
    const uint32_t sequence = owner.sequence;
    OpenedReply opened = SendOpen(owner, at, sent, owners_as_names, budget);
    attributes_set |= opened.grant.attributes_set;
    opened.grant.attributes_set = attributes_set;
    if (opened.grant.delegation) delegation = opened.grant.delegation;
    opened.grant.delegation = delegation;
    if (!opened.is_open || opened.handle) return opened;
    owner.sequence = sequence;
    // A server that has forgotten the number is not to make the file twice.
    sent.how = OpenArguments::How::kNoCreate;
    opened.error = restarts < kRestartsMax ? caller_.PauseForJukebox(budget) : std::errc::io_error;
    if (opened.error != kOk) return opened;
  }
}

// Sends it again, by its number, while an operation before the OPEN is delayed: an earlier
// transmission may have been executed.
OpenOwners::OpenedReply OpenOwners::SendUntilExecuted(OpenOwner& owner, const FileHandle& at,
                                                      const OpenArguments& arguments,
                                                      bool owners_as_names, OnDelay on_delay,
                                                      Budget& budget) {
  for (;;) {
    OpenedReply opened = SendOpenForHandle(owner, at, arguments, owners_as_names, budget);
    const bool is_delayed = opened.error == kOk && !opened.executed && IsWait(opened.status);
    if (!is_delayed || on_delay == OnDelay::kReturn) return opened;
    opened.error = caller_.PauseForJukebox(budget);
    if (opened.error != kOk) return opened;
  }
}

Acquired OpenOwners::Open(const LiveClient& client, const FileHandle& at, OpenArguments& arguments,
                          const Credential& credential, OnDelay on_delay, Budget& budget) {
  arguments.client_id = client.id;
  for (int restarts = 0; restarts < kRestartsMax;) {
    if (rpc::Retry::OutOfTime(budget)) return Failure<Acquired>(CallDeadline::Error());
    if (current_() != client.generation) return Refused(NFS4ERR_STALE_CLIENTID);
    OpenOwner owner = Take(credential, client.generation);
    const bool owners_as_names = owners_as_names_.load();
    const OpenedReply opened =
        SendUntilExecuted(owner, at, arguments, owners_as_names, on_delay, budget);
    if (opened.error != kOk) {
      GiveUp({.owner = std::move(owner),
              .at = at,
              .name = std::string(arguments.name),
              .read = arguments.read,
              .write = arguments.write,
              .claim = arguments.claim});
      return Failure<Acquired>(opened.error);
    }
    if (opened.is_open) {
      Acquired acquired = Finish(std::move(owner), arguments, opened, budget);
      if (acquired.error == kOk) return acquired;
      if (arguments.how == OpenArguments::How::kGuarded) {
        arguments.how = OpenArguments::How::kNoCreate;
      }
      if (!IsBadSeqidOrStateid(acquired.status)) return acquired;
      ++restarts;
      continue;
    }
    // Else an earlier transmission may have used the number.
    if (opened.executed) Put(std::move(owner));
    if (IsWait(opened.status) && on_delay == OnDelay::kRepeat) {
      const std::errc error = caller_.PauseForJukebox(budget);
      if (error != kOk) return Failure<Acquired>(error);
      // Resets the limit: a server that does not count delayed calls answers BAD_SEQID after each.
      restarts = 0;
    } else if (IsBadSeqidOrStateid(opened.status)) {
      ++restarts;
    } else if (opened.status == NFS4ERR_BADOWNER && !owners_as_names) {
      owners_as_names_.store(true);
    } else {
      return Refused(opened.status);
    }
  }
  return Failure<Acquired>(std::errc::io_error);
}

Acquired OpenOwners::Finish(OpenOwner owner, const OpenArguments& arguments,
                            const OpenedReply& opened, Budget& budget) {
  Acquired acquired;
  acquired.owner = std::move(owner);
  acquired.state = opened.grant.state;
  acquired.handle = *opened.handle;
  acquired.attributes = opened.attributes;
  acquired.attributes_set = opened.grant.attributes_set;
  acquired.granted = opened.granted;
  acquired.directory = Consistency(opened.grant.directory, opened.directory);
  if (opened.grant.must_confirm) {
    const SequencedReply confirmed =
        Confirm(acquired.owner, acquired.handle, acquired.state, budget);
    acquired.error = confirmed.error != kOk ? confirmed.error : ErrnoOfStatus4(confirmed.status);
    acquired.status = confirmed.status;
    if (confirmed.error != kOk) {
      GiveUp({.owner = acquired.owner,
              .at = acquired.handle,
              .state = acquired.state,
              .must_confirm = true});
    }
  }
  if (acquired.error != kOk || !opened.grant.delegation) return acquired;
  const bool is_asked = arguments.delegation == OpenArguments::Delegation::kRead;
  if (is_asked && !opened.grant.delegation->for_writing) {
    acquired.delegation = opened.grant.delegation;
  } else {
    ReturnUnasked(*opened.grant.delegation, acquired.handle, acquired.owner.credential, budget);
  }
  return acquired;
}

// Sends an operation on a file, again after each DELAY and GRACE. `add(Compound&)` adds it, with
// the owner's number; `take(CompoundReader&, SequencedReply&)` returns whether it succeeded.
template <typename AddOperation, typename TakeResult>
OpenOwners::SequencedReply OpenOwners::SendOnFile(OpenOwner& owner, const FileHandle& file,
                                                  Budget& budget, AddOperation add,
                                                  TakeResult take) {
  for (;;) {
    Compound compound;
    compound.PutHandle(file);
    add(compound);
    auto reply = Send<SequencedReply>(owner, compound, budget,
                                      [&](CompoundReader& reader, SequencedReply& decoded) {
                                        decoded.executed = reader.Next(OP_PUTFH);
                                        decoded.SetStatus(reader, take(reader, decoded));
                                      });
    if (reply.error != kOk || !IsWait(reply.status)) return reply;
    reply.error = caller_.PauseForJukebox(budget);
    if (reply.error != kOk) return reply;
  }
}

OpenOwners::SequencedReply OpenOwners::Confirm(OpenOwner& owner, const FileHandle& file,
                                               StateId& state, Budget& budget) {
  const SequencedReply reply = SendOnFile(
      owner, file, budget, [&](Compound& compound) { compound.ConfirmOpen(state, owner.sequence); },
      [](CompoundReader& reader, SequencedReply& decoded) {
        return TakeConfirmed(reader, decoded.state);
      });
  if (reply.error == kOk && reply.status == NFS4_OK) state = reply.state;
  return reply;
}

OpenOwners::SequencedReply OpenOwners::SendClose(OpenOwner& owner, const FileHandle& file,
                                                 const StateId& state, Budget& budget) {
  SequencedReply reply = SendOnFile(
      owner, file, budget, [&](Compound& compound) { compound.Close(state, owner.sequence); },
      [](CompoundReader& reader, SequencedReply&) { return TakeClosed(reader); });
  // Nothing else ends a state id that was revoked, or that of a file which is gone as well.
  const bool is_left = IsRevoked(reply.status) || reply.status == NFS4ERR_STALE;
  if (caller_.has_sessions() && reply.error == kOk && is_left &&
      !FreeStateId(caller_, state, owner.credential, budget)) {
    reply.error = std::errc::operation_canceled;  // both once more, later
  }
  return reply;
}

bool OpenOwners::TryClose(OpenOwner& owner, const FileHandle& file, const StateId& state,
                          Budget& budget) {
  const SequencedReply reply = SendClose(owner, file, state, budget);
  if (reply.error != kOk) return !IsUnanswered(reply.error);
  // Dropped on failure: the server may still have the file open.
  if (reply.status == NFS4_OK) Put(std::move(owner));
  return true;
}

void OpenOwners::Close(OpenOwner owner, const FileHandle& file, const StateId& state,
                       Budget& budget) {
  if (!TryClose(owner, file, state, budget)) CloseLater(std::move(owner), file, state);
}

void OpenOwners::CloseLater(OpenOwner owner, const FileHandle& file, const StateId& state) {
  GiveUp({.owner = std::move(owner), .at = file, .state = state});
}

void OpenOwners::ReturnUnasked(const DelegationGrant& delegation, const FileHandle& file,
                               const Credential& credential, Budget& budget) {
  // Whoever opens the file does not wait for it.
  constexpr std::chrono::seconds kTimeMax{1};
  Budget brief = budget.Until(rpc::Retry::Clock::now() + kTimeMax);
  (void)SendDelegReturn(caller_, delegation.state, file, credential, brief);
}

void OpenOwners::GiveUp(Unsettled call) {
  // In a session it was of the client id of that: of the one that it was made for, or a later one.
  if (caller_.has_sessions()) call.owner.generation = current_();
  const std::lock_guard lock(mutex_);
  if (unsettled_.size() >= kUnsettledMax) unsettled_.pop_front();
  unsettled_.push_back(std::move(call));
}

size_t OpenOwners::unsettled() const {
  const std::lock_guard lock(mutex_);
  return unsettled_.size();
}

StateError OpenOwners::Settle(const LiveClient& client, Budget& budget) {
  std::deque<Unsettled> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(unsettled_);
  }
  StateError state_error = StateError::kNone;
  for (Unsettled& call : calls) {
    // The server has dropped the state of an earlier client id.
    if (call.owner.generation != client.generation) continue;
    if (!SettleOne(client.id, call, state_error, budget)) GiveUp(std::move(call));
    if (ConcernsClient(state_error)) break;
  }
  return state_error;
}

// Returns false if it is to be settled later.
bool OpenOwners::SettleOne(uint64_t client_id, Unsettled& call, StateError& state_error,
                           Budget& budget) {
  if (rpc::Retry::OutOfTime(budget)) return false;
  if (!call.state) {
    OpenArguments arguments;
    arguments.client_id = client_id;
    arguments.read = call.read;
    arguments.write = call.write;
    arguments.name = call.name;
    arguments.claim = call.claim;
    const OpenedReply opened =
        SendOpenForHandle(call.owner, call.at, arguments, owners_as_names_.load(), budget);
    if (opened.error != kOk) return !IsUnanswered(opened.error);
    if (!opened.is_open) {
      if (IsWait(opened.status)) return false;
      state_error = StateErrorOf(opened.status);
      // Dropped where the number is not used up: the call that was given up may have used it.
      if (opened.executed && AdvancesSequence(opened.status)) Put(std::move(call.owner));
      return true;
    }
    call.at = *opened.handle;
    call.state = opened.grant.state;
    call.must_confirm = opened.grant.must_confirm;
    if (opened.grant.delegation) {
      ReturnUnasked(*opened.grant.delegation, call.at, call.owner.credential, budget);
    }
  }
  if (call.must_confirm) {
    const SequencedReply confirmed = Confirm(call.owner, call.at, *call.state, budget);
    if (confirmed.error != kOk) return !IsUnanswered(confirmed.error);
    call.must_confirm = false;
    state_error = RestartOf(confirmed.status);
    if (confirmed.status != NFS4_OK) return true;
  }
  const SequencedReply closed = SendClose(call.owner, call.at, *call.state, budget);
  if (closed.error != kOk) return !IsUnanswered(closed.error);
  state_error = RestartOf(closed.status);
  if (closed.status == NFS4_OK) Put(std::move(call.owner));
  return true;
}

}  // namespace nfswalk::protocol
