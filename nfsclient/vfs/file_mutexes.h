// file_mutexes: i_rwsem of regular files, under which their data is written, written back and cut.
//
// An array indexed by a hash of the inode's address, as that of the directories, but another one: a
// directory does not wait for the WRITEs of a file. Two files may share a lock; a thread holds one at
// a time.
//
// Thread safety: any. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_VFS_FILE_MUTEXES_H_
#define NFSWALK_NFSCLIENT_VFS_FILE_MUTEXES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "nfsclient/icache/inode.h"
#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/vfs/inode_mutex.h"
#include "rcu/mix64.h"

namespace nfswalk::vfs {

class FileMutexes {
 public:
  using Mutex = InodeMutex<rcu::LockClass::kFile>;
  using Exclusive = std::unique_lock<Mutex>;

  // Not locked if the thread's CallDeadline passes, or its calls are canceled, meanwhile.
  [[nodiscard]] Exclusive Lock(const icache::Inode& file) {
    const uint64_t hash = rcu::Mix64(reinterpret_cast<uintptr_t>(&file));
    return Exclusive(mutexes_[hash % kMutexes], protocol::CallDeadline::Current());
  }

 private:
  static constexpr size_t kMutexes = 1024;
  std::array<Mutex, kMutexes> mutexes_;
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_FILE_MUTEXES_H_
