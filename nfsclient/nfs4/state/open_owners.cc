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

bool IsWait(int status) { return StateErrorOf(status) == StateError::kWait; }

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
  bool granted = false;  // the members below are valid, as far as sent
  OpenGrant grant;
  std::optional<FileHandle> handle;
  OptionalAttributes attributes;
  std::optional<uint32_t> access;
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
  Compound compound;
  if (owners_as_names) compound.SendOwnersAsNames(names_);
  // Who creates a file, or reclaims one, does not need its rights.
  const bool asks_access = arguments.how == OpenArguments::How::kNoCreate && !arguments.reclaim;
  compound.PutHandle(at).SaveHandle().Open(arguments).GetHandle().GetAttributes();
  if (asks_access) compound.Access(kAccessAll);  // in the order of Nfs4::Access()
  compound.RestoreHandle().GetAttributes();
  return Send<OpenedReply>(owner, compound, budget,
                           [&](CompoundReader& reader, OpenedReply& reply) {
                             reply.executed = reader.Next(OP_PUTFH) && reader.Next(OP_SAVEFH);
                             reply.granted = TakeOpen(reader, reply.grant);
                             reply.SetStatus(reader, reply.granted);
                             // The file is open: later failures leave parts of the reply out.
                             FileHandle handle;
                             if (TakeHandle(reader, handle)) reply.handle = handle;
                             reply.attributes = TakeOptionalAttributes(reader, names_);
                             uint32_t access = 0;
                             if (asks_access && TakeAccess(reader, access)) reply.access = access;
                             if (reader.Next(OP_RESTOREFH))
                               reply.directory = TakeOptionalAttributes(reader, names_);
                           });
}

Acquired OpenOwners::Open(const LiveClient& client, const FileHandle& at, OpenArguments& arguments,
                          const Credential& credential, Budget& budget) {
  arguments.client_id = client.id;
  for (int restarts = 0; restarts < kRestartsMax;) {
    OpenOwner owner = Take(credential, client.generation);
    const bool owners_as_names = owners_as_names_.load();
    const OpenedReply opened = SendOpen(owner, at, arguments, owners_as_names, budget);
    if (opened.error != kOk) return Failure<Acquired>(opened.error);
    if (opened.granted) {
      Acquired acquired = Finish(std::move(owner), opened, at, arguments, budget);
      if (acquired.error == kOk) return acquired;
      if (arguments.how == OpenArguments::How::kGuarded) {
        arguments.how = OpenArguments::How::kNoCreate;
      }
      if (!IsBadSeqidOrStateid(acquired.status)) return acquired;
      ++restarts;
      continue;
    }
    Put(std::move(owner));
    if (IsWait(opened.status)) {
      const std::errc error = caller_.PauseForJukebox(budget);
      if (error != kOk) return Failure<Acquired>(error);
      // Resets the limit: a server that does not count delayed calls answers BAD_SEQID after each.
      restarts = 0;
    } else if (IsBadSeqidOrStateid(opened.status)) {
      ++restarts;
    } else if (opened.status == NFS4ERR_BADOWNER && !owners_as_names) {
      owners_as_names_.store(true);
    } else {
      Acquired refused = Failure<Acquired>(ErrnoOfStatus4(opened.status));
      refused.status = opened.status;
      return refused;
    }
  }
  return Failure<Acquired>(std::errc::io_error);
}

// Drops the owner on failure: the server may have the file open.
Acquired OpenOwners::Finish(OpenOwner owner, const OpenedReply& opened, const FileHandle& at,
                            const OpenArguments& arguments, Budget& budget) {
  Acquired acquired;
  acquired.owner = std::move(owner);
  acquired.state = opened.grant.state;
  acquired.attributes = opened.attributes;
  acquired.granted = opened.access;
  acquired.directory = Consistency(opened.grant.directory, opened.directory);
  if (arguments.reclaim) {
    acquired.handle = at;
  } else if (opened.handle) {
    acquired.handle = *opened.handle;
  } else {
    const LookupReply found = FindOpened(at, arguments.name, acquired.owner.credential, budget);
    if (found.error != kOk) return Failure<Acquired>(found.error);
    acquired.handle = found.handle;
    acquired.attributes = found.attributes;
  }
  if (opened.grant.must_confirm) Confirm(acquired, budget);
  return acquired;
}

void OpenOwners::Confirm(Acquired& acquired, Budget& budget) {
  for (;;) {
    Compound compound;
    compound.PutHandle(acquired.handle).ConfirmOpen(acquired.state, acquired.owner.sequence);
    const auto reply = Send<SequencedReply>(
        acquired.owner, compound, budget, [](CompoundReader& reader, SequencedReply& confirmed) {
          confirmed.executed = reader.Next(OP_PUTFH);
          confirmed.SetStatus(reader, TakeConfirmed(reader, confirmed.state));
        });
    acquired.error = reply.error;
    if (reply.error != kOk) return;
    if (!IsWait(reply.status)) {
      acquired.status = reply.status;
      acquired.error = ErrnoOfStatus4(reply.status);
      acquired.state = reply.state;
      return;
    }
    acquired.error = caller_.PauseForJukebox(budget);
    if (acquired.error != kOk) return;
  }
}

void OpenOwners::Close(OpenOwner owner, const FileHandle& file, const StateId& state,
                       Budget& budget) {
  for (;;) {
    Compound compound;
    compound.PutHandle(file).Close(state, owner.sequence);
    const auto reply = Send<SequencedReply>(owner, compound, budget,
                                            [](CompoundReader& reader, SequencedReply& closed) {
                                              closed.executed = reader.Next(OP_PUTFH);
                                              closed.SetStatus(reader, TakeClosed(reader));
                                            });
    if (reply.error != kOk) return;
    if (!IsWait(reply.status)) {
      // Dropped on failure: the server may still have the file open.
      if (reply.status == NFS4_OK) Put(std::move(owner));
      return;
    }
    if (caller_.PauseForJukebox(budget) != kOk) return;
  }
}

// Looks up the file of an OPEN that was granted without a handle.
LookupReply OpenOwners::FindOpened(const FileHandle& directory, std::string_view name,
                                   const Credential& credential, Budget& budget) {
  Compound compound;
  compound.PutHandle(directory).Lookup(name).GetHandle().GetAttributes();
  return CallCompound<LookupReply>(
      caller_, compound, credential, budget, [&](CompoundReader& reader, LookupReply& reply) {
        const bool found =
            reader.Next(OP_PUTFH) && reader.Next(OP_LOOKUP) && TakeHandle(reader, reply.handle);
        reply.error = found ? kOk : reader.error();
        if (found) reply.attributes = TakeOptionalAttributes(reader, names_);
      });
}

}  // namespace nfswalk::protocol
