// lock_pids: which process locked last as which owner, for F_GETLK: the server does not tell.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_LOCK_PIDS_H_
#define NFSWALK_NFSCLIENT_MOUNT_LOCK_PIDS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace nfswalk::mount {

class LockPids {
 public:
  // The owners that are remembered; all are forgotten beyond.
  static constexpr size_t kMax = 4096;

  void Note(uint64_t owner, pid_t process) {
    const std::lock_guard lock(mutex_);
    if (pids_.size() == kMax) pids_.clear();
    pids_.insert_or_assign(owner, process);
  }
  // 0 if it is not known.
  pid_t Find(uint64_t owner) const {
    const std::lock_guard lock(mutex_);
    const auto found = pids_.find(owner);
    return found == pids_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, pid_t> pids_;  // guarded by mutex_
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_LOCK_PIDS_H_
