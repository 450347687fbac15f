#include "nfsclient/protocol/nfs4_open_acquire.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <utility>

#include "nfsclient/protocol/nfs4_status.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {
namespace {

// Limit of OPENs repeated because of BAD_SEQID or BAD_STATEID.
constexpr int kRestartsMax = 4;

Acquired Refused(int status) {
  Acquired refused;
  refused.error = ErrnoOfStatus4(status);
  refused.status = status;
  return refused;
}

bool IsBadSeqidOrStateid(int status) {
  const StateError state_error = StateErrorOf(status);
  return state_error == StateError::kOwner || state_error == StateError::kState;
}

}  // namespace

Acquired OpenAcquirer::Acquire(const LiveClient& client, const FileHandle& at,
                               OpenArguments& arguments, const Credential& credential,
                               RpcCaller::Budget& budget) {
  arguments.client_id = client.id;
  for (int restarts = 0; restarts < kRestartsMax;) {
    OpenOwner owner = pool_.Take(credential, client.generation);
    const bool owners_as_names = owners_as_names_.load();
    const OpenedReply opened = calls_.Open(owner, at, arguments, owners_as_names, budget);
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
    pool_.Put(std::move(owner));
    if (StateErrorOf(opened.status) == StateError::kWait) {
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

// Drops the owner on failure: the server may have the file open.
Acquired OpenAcquirer::Finish(OpenOwner owner, const OpenedReply& opened, const FileHandle& at,
                              const OpenArguments& arguments, RpcCaller::Budget& budget) {
  Acquired acquired;
  acquired.owner = std::move(owner);
  acquired.state = opened.grant.state;
  acquired.attributes = opened.attributes;
  acquired.directory = Consistency(opened.grant.directory, opened.directory);
  if (arguments.reclaim) {
    acquired.handle = at;
  } else if (opened.handle) {
    acquired.handle = *opened.handle;
  } else {
    const LookupReply found =
        calls_.FindOpened(at, arguments.name, acquired.owner.credential, budget);
    if (found.error != kOk) return Failure<Acquired>(found.error);
    acquired.handle = found.handle;
    acquired.attributes = found.attributes;
  }
  if (opened.grant.must_confirm) Confirm(acquired, budget);
  return acquired;
}

void OpenAcquirer::Confirm(Acquired& acquired, RpcCaller::Budget& budget) {
  for (;;) {
    const SequencedReply reply =
        calls_.Confirm(acquired.owner, acquired.handle, acquired.state, budget);
    acquired.error = reply.error;
    if (reply.error != kOk) return;
    if (StateErrorOf(reply.status) != StateError::kWait) {
      acquired.status = reply.status;
      acquired.error = ErrnoOfStatus4(reply.status);
      acquired.state = reply.state;
      return;
    }
    acquired.error = caller_.PauseForJukebox(budget);
    if (acquired.error != kOk) return;
  }
}

void OpenAcquirer::Release(OpenOwner owner, const FileHandle& file, const StateId& state,
                           RpcCaller::Budget& budget) {
  for (;;) {
    const SequencedReply reply = calls_.Close(owner, file, state, budget);
    if (reply.error != kOk) return;
    if (StateErrorOf(reply.status) != StateError::kWait) {
      // Dropped on failure: the server may still have the file open.
      if (reply.status == NFS4_OK) pool_.Put(std::move(owner));
      return;
    }
    if (caller_.PauseForJukebox(budget) != kOk) return;
  }
}

}  // namespace nfswalk::protocol
