// invalidations: tells a caller that keeps caches of its own which nodes and names of a mount
// became invalid (FUSE_NOTIFY_INVAL_ENTRY, FUSE_NOTIFY_INVAL_INODE).
//
// Post() only queues, in bounded memory that is allocated beforehand but for long names; a thread
// of its own calls the listener, with no lock held. What does not fit is told as kEverything.
//
// Thread safety: all functions, from any thread. Post() from any context that may take a leaf lock.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_INVALIDATIONS_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_INVALIDATIONS_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "nfsclient/icache/inode.h"
#include "nfsclient/superblock/node_id.h"

namespace nfswalk::nfs {

enum class InvalidReason : uint8_t {
  kChanged,     // another client changed the file, or the names of the directory
  kAttributes,  // another client changed owner or mode, and nothing else
  kName,        // `name` in the directory `node` leads to another file than before, or to none
  kStale,       // the server no longer knows the file
  kEverything,  // events were lost, or everything is to be revalidated: `node` is {}
};

struct Invalidation {
  InvalidReason reason = InvalidReason::kEverything;
  NodeId node;
  std::string name;  // of kName only
};

class Invalidations {
 public:
  using Listener = std::function<void(const Invalidation&)>;

  Invalidations() = default;
  ~Invalidations() { Stop(); }
  Invalidations(const Invalidations&) = delete;
  Invalidations& operator=(const Invalidations&) = delete;

  // Replaces the listener; empty: none. Returns when the one before is not called any more.
  // `queue_max`: events that wait for it. Errors: invalid_argument for a `queue_max` of 0;
  // not_enough_memory; resource_unavailable_try_again without a thread;
  // resource_deadlock_would_occur from the listener. Then there is no listener, but for the last,
  // which changes nothing.
  std::errc Listen(Listener listener, size_t queue_max);
  void Stop();
  // Waits until the listener has returned from all that was posted before, or there is no
  // listener, or the thread's time is over. Preconditions: not called by the listener.
  void AwaitDelivery();
  // Whether the listener has not yet returned from an event about the node, or about everything.
  bool HasQueued(const NodeId& node);

  bool listening() const { return listening_.load(); }
  // So many were posted so far.
  uint64_t posted() const { return posted_.load(); }
  // Does nothing without a listener. Preconditions: RCU section or a reference on the inode.
  void Post(InvalidReason reason, const icache::Inode& node, std::string_view name = {}) {
    if (listening()) PostSlow(reason, NodeIdOf(node), name);
  }
  void PostEverything() {
    if (listening()) PostSlow(InvalidReason::kEverything, {}, {});
  }

 private:
  void PostSlow(InvalidReason reason, const NodeId& node, std::string_view name);
  void Deliver(const std::stop_token& stop, const Listener& listener);

  std::mutex listen_mutex_;  // serialises Listen() and Stop()
  std::jthread thread_;      // under listen_mutex_
  std::atomic<std::thread::id> thread_id_{};
  std::atomic<bool> listening_{false};

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any queued_some_;
  std::vector<Invalidation> queue_;
  std::vector<Invalidation> batch_;  // is delivered; changed by thread_ alone, which need not lock
  size_t queue_max_ = 0;
  bool overflow_ = false;
  bool everything_ = false;  // is delivered
  std::atomic<uint64_t> posted_{0};  // changed under mutex_
  uint64_t delivered_ = 0;  // of posted_
  std::condition_variable delivered_some_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_INVALIDATIONS_H_
