// kernel_caches: keeps what the kernel caches of a mount no longer than this client would itself:
// timeouts of names and attributes, and notifications of what became invalid before.
//
// Each reply to the kernel carries the count of events sampled before its lookup (Sample). An event
// that was noticed in between takes the timeouts away, since it may be about that name; one that is
// noticed after the reply finds the name noted, as does a listing that has noticed it, until the
// kernel has been told. A lookup holds the kernel's lock of the directory until it has taken the
// reply, which an expiry waits for; a revalidation does not, so that one that an event overtakes
// there holds until its timeout.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_KERNEL_CACHES_H_
#define NFSWALK_NFSCLIENT_MOUNT_KERNEL_CACHES_H_

#include <atomic>
#include <cstdint>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "nfsclient/client.h"
#include "nfsclient/mount/fuse.h"
#include "nfsclient/mount/inode_numbers.h"
#include "nfsclient/mount/node_table.h"

namespace nfswalk::mount {

class KernelCaches {
 public:
  // Refers to its arguments.
  KernelCaches(const Client& client, NodeTable& nodes, const InodeNumbers& numbers)
      : client_(client), nodes_(nodes), numbers_(numbers) {}
  KernelCaches(const KernelCaches&) = delete;
  KernelCaches& operator=(const KernelCaches&) = delete;

  uint64_t Sample() const { return client_.invalidations_queued(); }

  // While a reply is made and sent: no event is delivered meanwhile.
  class [[nodiscard]] Reply {
   public:
    // `received`: when the request was (KernelSize).
    Reply(KernelCaches& caches, uint64_t sample, KernelSize::Time received)
        : caches_(caches), sample_(sample), received_(received), lock_(caches.mutex_) {}

    // The entry of `name` in a directory, without a node if it does not exist. Counts a lookup of
    // the node, which is to be forgotten if the reply cannot be sent.
    fuse_entry_param Entry(NodeNumber directory, const char* name, LookupResult&& found);

   private:
    KernelCaches& caches_;
    const uint64_t sample_;
    const KernelSize::Time received_;
    const std::shared_lock<std::shared_mutex> lock_;
  };

  // Tells the kernel, which may wait for a process that waits for the server: by no thread that
  // serves requests, and by one only, so that notifications have an order (NAME-37).
  void Deliver(fuse_session* session, const Invalidation& event);

  // Whether the kernel can expire a name (FUSE_CAP_EXPIRE_ONLY, Linux 6.2): before the first
  // request. Where it says ENOSYS all the same, it cannot.
  void SetCanExpire(bool can_expire) { can_expire_ = can_expire; }

 private:
  // So that the name is looked up again. False where the kernel cannot: it can only drop a name,
  // and with it the mounts below, and what was looked up by it counts as removed (d_invalidate()).
  bool ExpireName(fuse_session* session, NodeNumber directory, std::string_view name);
  // For such a kernel: whether the name leads to the directory that it did, as the server has it, so
  // that working directories and mounts below it stay.
  bool KeepsName(const NodeTable::Names& changed, const std::string& name);
  void DropNames(fuse_session* session, const NodeTable::Names& changed);
  void DeliverNode(fuse_session* session, const NodeId& node, bool data);

  const Client& client_;
  NodeTable& nodes_;
  const InodeNumbers& numbers_;
  std::atomic<bool> can_expire_{true};
  std::shared_mutex mutex_;
};

// FUSE's timeouts are in seconds.
inline double TimeoutOf(uint64_t valid_ns) { return static_cast<double>(valid_ns) / 1e9; }

// Other attributes have other ones, as good as always.
uint64_t TimesOf(const Attributes& attributes);

// stat(2).
struct stat StatOf(const Attributes& attributes, const InodeNumbers& numbers);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_KERNEL_CACHES_H_
