#include "nfsclient/protocol/nfs4_open_files.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <utility>

namespace nfswalk::protocol {

void OpenFiles::Add(std::shared_ptr<OpenFile> file) {
  const std::lock_guard lock(mutex_);
  files_.insert(std::move(file));
}

void OpenFiles::Remove(const std::shared_ptr<OpenFile>& file) {
  const std::lock_guard lock(mutex_);
  files_.erase(file);
}

std::vector<std::shared_ptr<OpenFile>> OpenFiles::OpenedBefore(uint64_t generation) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<OpenFile>> before;
  for (const std::shared_ptr<OpenFile>& file : files_) {
    const OpenFile::State now = file->CurrentState();
    if (now.generation < generation && !now.lost) before.push_back(file);
  }
  return before;
}

bool OpenFiles::MayReclaim(const LiveClient& client) const {
  return client.may_reclaim && reclaimed_generation_.load() < client.generation;
}

StateError OpenFiles::ReopenAll(const LiveClient& client, RpcCaller::Budget& budget) {
  for (const Claim claim : {Claim::kPrevious, Claim::kNull}) {
    for (const std::shared_ptr<OpenFile>& file : OpenedBefore(client.generation)) {
      if (claim == Claim::kPrevious && !MayReclaim(client)) break;
      const Reopened reopened =
          ReopenByClaim(claim, *file, file->CurrentState().id, client, budget);
      if (reopened.state_error != StateError::kNone || reopened.error != kOk)
        return reopened.state_error;
    }
  }
  return StateError::kNone;
}

OpenFiles::Reopened OpenFiles::Reopen(OpenFile& file, const StateId& used, const LiveClient& client,
                                      RpcCaller::Budget& budget) {
  if (MayReclaim(client) && file.CurrentState().generation < client.generation) {
    const Reopened reclaimed = ReopenByClaim(Claim::kPrevious, file, used, client, budget);
    if (reclaimed.state_error != StateError::kNone || reclaimed.error != kOk) return reclaimed;
  }
  return ReopenByClaim(Claim::kNull, file, used, client, budget);
}

OpenFiles::Reopened OpenFiles::ReopenByClaim(Claim claim, OpenFile& file, const StateId& used,
                                             const LiveClient& client, RpcCaller::Budget& budget) {
  const std::lock_guard lock(file.reopen_mutex);
  const OpenFile::State now = file.CurrentState();
  if (file.closed || now.lost || now.id != used) return {};
  OpenArguments arguments;
  arguments.read = file.read;
  arguments.write = file.write;
  arguments.name = file.name;
  arguments.reclaim = claim == Claim::kPrevious;
  const FileHandle& at = arguments.reclaim ? file.handle : file.directory;
  Acquired acquired = acquirer_.Acquire(client, at, arguments, file.credential, budget);
  const StateError state_error = StateErrorOf(acquired.status);
  if (ConcernsClient(state_error)) return {kOk, state_error};
  if (acquired.error != kOk && acquired.status == NFS4_OK) return {acquired.error};
  StoreResult(claim, file, std::move(acquired), client, budget);
  return {};
}

// Stores the result of an OPEN, granted or refused. Preconditions: file.reopen_mutex is held.
void OpenFiles::StoreResult(Claim claim, OpenFile& file, Acquired acquired,
                            const LiveClient& client, RpcCaller::Budget& budget) {
  OpenFile::State later = file.CurrentState();
  if (acquired.error == kOk && acquired.handle == file.handle) {
    later.id = acquired.state;
    later.generation = client.generation;
    later.reopened = std::chrono::steady_clock::now();
    file.owner = std::move(acquired.owner);
  } else if (acquired.error == kOk) {
    acquirer_.Release(std::move(acquired.owner), acquired.handle, acquired.state, budget);
    later.lost = true;
  } else if (claim == Claim::kNull) {
    later.lost = true;
  } else if (acquired.status == NFS4ERR_NO_GRACE) {
    reclaimed_generation_.store(client.generation);
  }
  file.SetState(later);
}

}  // namespace nfswalk::protocol
