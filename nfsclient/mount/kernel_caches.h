// kernel_caches: keeps what the kernel caches of a mount no longer than this client would itself:
// timeouts of names and attributes, and word of what became invalid before.
//
// The kernel is told with a number of events sampled before the lookup that it is told of (Sample).
// An event that came in between takes the timeouts away, since it may be about that name; one that
// comes after the reply finds the name noted. A lookup holds the kernel's lock of the directory
// until it has taken the reply, which an expiry waits for; a revalidation does not, so that one
// that an event overtakes there holds until its timeout.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_KERNEL_CACHES_H_
#define NFSWALK_NFSCLIENT_MOUNT_KERNEL_CACHES_H_

#include <cstdint>
#include <shared_mutex>
#include <string>

#include "nfsclient/client.h"
#include "nfsclient/mount/fuse.h"
#include "nfsclient/mount/node_table.h"

namespace nfswalk::mount {

class KernelCaches {
 public:
  explicit KernelCaches(NodeTable& nodes) : nodes_(nodes) {}
  KernelCaches(const KernelCaches&) = delete;
  KernelCaches& operator=(const KernelCaches&) = delete;

  uint64_t Sample() const {
    const std::shared_lock lock(mutex_);
    return events_;
  }

  // While a reply is made and sent.
  class [[nodiscard]] Reply {
   public:
    // `received`: when the request was (KernelSize).
    Reply(KernelCaches& caches, uint64_t sample, KernelSize::Time received)
        : caches_(caches),
          received_(received),
          lock_(caches.mutex_),
          is_current_(sample == caches.events_) {}

    // What `name` of a directory leads to, nothing if it does not exist. Counts a lookup of the
    // node, which is to be forgotten if the reply cannot be sent.
    fuse_entry_param Entry(NodeNumber directory, const char* name, LookupResult&& found);

   private:
    KernelCaches& caches_;
    const KernelSize::Time received_;
    const std::shared_lock<std::shared_mutex> lock_;
    const bool is_current_;
  };

  // Tells the kernel, which may wait for a process that waits for the server: by no thread that
  // serves requests.
  void Deliver(fuse_session* session, const Invalidation& event);

  // Drops attributes, with `pages` the pages, too, of a node that a request is in progress for. For
  // pages that are read or written it waits until they are.
  void Drop(fuse_session* session, NodeNumber number, bool pages);

 private:
  void DeliverNode(fuse_session* session, const NodeId& node, bool data);

  NodeTable& nodes_;
  mutable std::shared_mutex mutex_;
  uint64_t events_ = 0;  // guarded by mutex_
};

// FUSE's timeouts are in seconds.
inline double TimeoutOf(uint64_t valid_ns) { return static_cast<double>(valid_ns) / 1e9; }

// Other attributes have other ones, as good as always.
uint64_t TimesOf(const Attributes& attributes);

// stat(2).
struct stat StatOf(const Attributes& attributes);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_KERNEL_CACHES_H_
