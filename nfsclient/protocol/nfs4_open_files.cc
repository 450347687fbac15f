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
    const OpenFile::State now = file->Now();
    if (now.generation < generation && !now.lost) before.push_back(file);
  }
  return before;
}

bool OpenFiles::MayReclaim(const LiveClient& client) const {
  return client.may_reclaim && reclaimed_generation_.load() < client.generation;
}

StateError OpenFiles::ReopenAll(const LiveClient& client, RpcCaller::Budget& budget) {
  for (const By by : {By::kHandle, By::kName}) {
    for (const std::shared_ptr<OpenFile>& file : OpenedBefore(client.generation)) {
      if (by == By::kHandle && !MayReclaim(client)) break;
      const Reopened reopened = OpenAgain(by, *file, file->Now().id, client, budget);
      if (reopened.trouble != StateError::kNone || reopened.error != kOk) return reopened.trouble;
    }
  }
  return StateError::kNone;
}

OpenFiles::Reopened OpenFiles::Reopen(OpenFile& file, const StateId& used, const LiveClient& client,
                                      RpcCaller::Budget& budget) {
  if (MayReclaim(client) && file.Now().generation < client.generation) {
    const Reopened reclaimed = OpenAgain(By::kHandle, file, used, client, budget);
    if (reclaimed.trouble != StateError::kNone || reclaimed.error != kOk) return reclaimed;
  }
  return OpenAgain(By::kName, file, used, client, budget);
}

OpenFiles::Reopened OpenFiles::OpenAgain(By by, OpenFile& file, const StateId& used,
                                         const LiveClient& client, RpcCaller::Budget& budget) {
  const std::lock_guard busy(file.busy);
  const OpenFile::State now = file.Now();
  if (file.closed || now.lost || now.id != used) return {};
  OpenArguments arguments;
  arguments.read = file.read;
  arguments.write = file.write;
  arguments.name = file.name;
  arguments.reclaim = by == By::kHandle;
  const FileHandle& at = arguments.reclaim ? file.handle : file.directory;
  Acquired acquired = acquirer_.Acquire(client, at, arguments, file.credential, budget);
  const StateError trouble = StateErrorOf(acquired.status);
  if (ConcernsClient(trouble)) return {kOk, trouble};
  if (acquired.error != kOk && acquired.status == NFS4_OK) return {acquired.error};
  Settle(by, file, std::move(acquired), client, budget);
  return {};
}

// Under file.busy. The server has said yes or no.
void OpenFiles::Settle(By by, OpenFile& file, Acquired acquired, const LiveClient& client,
                       RpcCaller::Budget& budget) {
  OpenFile::State later = file.Now();
  if (acquired.error == kOk && acquired.handle == file.handle) {
    later.id = acquired.state;
    later.generation = client.generation;
    later.reopened = std::chrono::steady_clock::now();
    file.owner = std::move(acquired.owner);
  } else if (acquired.error == kOk) {
    acquirer_.Release(std::move(acquired.owner), acquired.handle, acquired.state, budget);
    later.lost = true;
  } else if (by == By::kName) {
    later.lost = true;
  } else if (acquired.status == NFS4ERR_NO_GRACE) {
    reclaimed_generation_.store(client.generation);
  }
  file.Become(later);
}

}  // namespace nfswalk::protocol
