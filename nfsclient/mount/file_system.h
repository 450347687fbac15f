// file_system: a mounted file system, as its requests see it: the state behind libfuse's session.
//
// Thread safety: all members, while there is a session.
#ifndef NFSWALK_NFSCLIENT_MOUNT_FILE_SYSTEM_H_
#define NFSWALK_NFSCLIENT_MOUNT_FILE_SYSTEM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "nfsclient/client.h"
#include "nfsclient/mount/callers.h"
#include "nfsclient/mount/fuse.h"
#include "nfsclient/mount/inode_numbers.h"
#include "nfsclient/mount/interrupts.h"
#include "nfsclient/mount/kernel_caches.h"
#include "nfsclient/mount/kernel_size.h"
#include "nfsclient/mount/lock_pids.h"
#include "nfsclient/mount/node_table.h"
#include "nfsclient/mount/receivers.h"
#include "nfsclient/mount/request_counts.h"
#include "nfsclient/mount/stale_retries.h"
#include "threads/task_threads.h"

namespace nfswalk::mount {

// An open file, by fuse_file_info::fh.
struct OpenFile : std::enable_shared_from_this<OpenFile> {
  OpenFile(std::unique_ptr<File> opened, bool may_write)
      : file(std::move(opened)), writes(may_write) {}

  const std::unique_ptr<File> file;
  const bool writes;                 // it was opened for that, too
  std::atomic<bool> written{false};  // since the last FLUSH: its size is not the server's (WIRE-29)
};

// The open files, or the open directories, by fuse_file_info::fh: each lives until it is released,
// or the session ends without that.
template <typename Open>
class Handles {
 public:
  uint64_t Add(std::shared_ptr<Open> open) {
    const auto handle = reinterpret_cast<uint64_t>(open.get());
    const std::lock_guard lock(mutex_);
    opens_.emplace(handle, std::move(open));
    return handle;
  }
  static Open& At(const fuse_file_info& info) { return *reinterpret_cast<Open*>(info.fh); }
  // To be destroyed without a lock.
  std::shared_ptr<Open> Take(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    return std::move(opens_.extract(handle).mapped());
  }
  // Destroys all. Preconditions: no request is in progress.
  void Clear() { opens_.clear(); }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<Open>> opens_;  // guarded by mutex_
};

struct FileSystem {
  // `root`: the export's.
  FileSystem(Client& its_client, std::unique_ptr<Node> root, const MountOptions& options,
             bool others)
      : client(its_client),
        nocto(options.nocto),
        names_are_cached(options.acdirmax_s != 0 && options.lookupcache != LookupCache::kNone),
        version(client.server().version),
        locks_on_server(version == 4 && !options.nolock),
        has_xattrs(options.xattr &&
                   ((version == 3 && options.acl) ||
                    client.server().minor_version.value_or(0) >= 2 || client.has_acls())),
        inode_numbers(root->attributes().fsid),
        nodes(std::move(root)),
        callers(others) {}

  static FileSystem& Of(fuse_req_t request) {
    return *static_cast<FileSystem*>(fuse_req_userdata(request));
  }

  // Has the kernel drop attributes, with `pages` the pages, too, of a node that a request is in
  // progress for, in order with all else that it is told. For pages that are read or written it
  // waits until they are.
  void Drop(NodeNumber number, bool pages) {
    client.Invalidate(pages ? InvalidReason::kChanged : InvalidReason::kAttributes,
                      nodes.At(number));
  }

  Client& client;
  fuse_session* session = nullptr;  // these two: set before the first request
  Receivers* receivers = nullptr;
  const bool nocto;
  const bool names_are_cached;  // by the kernel
  const int version;
  const bool locks_on_server;
  const bool has_xattrs;
  const InodeNumbers inode_numbers;
  NodeTable nodes;
  KernelCaches caches{client, nodes, inode_numbers};
  NameRetries name_retries;
  OpenRetries open_retries;
  RequestCounts requests;
  Callers callers;
  Handles<OpenFile> files;
  Handles<Directory> directories;
  Interrupts interrupts;
  LockPids lock_pids;
  // For requests that may wait for the server, so that those threads which receive requests never
  // do: one for each, since those behind a dead server must not hold up others. The kernel sends
  // one for each thread that is in a call, and a few of its own; beyond so many they wait.
  static constexpr size_t kWorkersMax = 1024;
  TaskThreads workers{kWorkersMax, SIZE_MAX};
  TaskThreads lock_waiters{kWorkersMax, SIZE_MAX};  // for locks that others have
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_FILE_SYSTEM_H_
