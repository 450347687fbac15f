// directory_locks: i_rwsem of directories.
//
// Lookups and listings hold a directory's lock shared across their RPC and the insertion of its
// result; create, unlink and rename hold it exclusively. So the ENOENT of a LOOKUP sent before our
// own CREATE cannot be cached after it (NAME-23). The locks are an array
// indexed by a hash of the inode's address, which keeps inodes small. Two directories may share a
// lock; no deadlock follows, since only LockPair() takes two.
//
// Thread safety: any. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_VFS_DIRECTORY_LOCKS_H_
#define NFSWALK_NFSCLIENT_VFS_DIRECTORY_LOCKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "nfsclient/icache/inode.h"
#include "rcu/mix64.h"

namespace nfswalk::vfs {

class DirectoryLocks {
 public:
  using Exclusive = std::unique_lock<std::shared_mutex>;
  using Shared = std::shared_lock<std::shared_mutex>;

  Shared LockShared(const icache::Inode& directory) { return Shared(At(directory)); }
  Exclusive Lock(const icache::Inode& directory) { return Exclusive(At(directory)); }

  // lock_rename: both directories, in address order; the second is empty if they share a lock.
  std::pair<Exclusive, Exclusive> LockPair(const icache::Inode& a, const icache::Inode& b) {
    std::shared_mutex* first = &At(a);
    std::shared_mutex* second = &At(b);
    if (first == second) return {Exclusive(*first), Exclusive()};
    if (second < first) std::swap(first, second);
    Exclusive outer(*first);
    return {std::move(outer), Exclusive(*second)};
  }

 private:
  static constexpr size_t kLocks = 1024;
  std::shared_mutex& At(const icache::Inode& directory) {
    return locks_[rcu::Mix64(reinterpret_cast<uintptr_t>(&directory)) % kLocks];
  }
  std::array<std::shared_mutex, kLocks> locks_;
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_DIRECTORY_LOCKS_H_
