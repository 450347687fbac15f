// node_table: what the kernel knows of a mounted file system: nodes by their FUSE node id, with the
// number of lookups that the kernel has not forgotten, and the names that it caches in each
// directory.
//
// A node id is the address of a Held; 1 is the root. The kernel sends no request for a node that it
// has forgotten, and none is forgotten during a request for it, so a node id in a request needs no
// lock to be used (fuse_lowlevel.h, forget).
//
// A node that is stale keeps its number for what the kernel has open of it. Where the server knows
// the file again, its next lookup has another number, by which the kernel opens it (ATTR-8).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_NODE_TABLE_H_
#define NFSWALK_NFSCLIENT_MOUNT_NODE_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "nfsclient/mount/kernel_size.h"

namespace nfswalk::mount {

// fuse_ino_t.
using NodeNumber = uint64_t;
inline constexpr NodeNumber kRootNumber = 1;  // FUSE_ROOT_ID

class NodeTable {
 public:
  // Names of all directories; see NoteName().
  static constexpr size_t kNamesMax = 262'144;

  explicit NodeTable(std::unique_ptr<Node> root);
  ~NodeTable();
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  const Node& At(NodeNumber number) const { return *HeldAt(number).node; }

  // Counts a lookup of the node, which becomes known if it is not, or only as a stale one: before
  // the kernel is told of it.
  struct Known {
    NodeNumber number;
    uint64_t generation;  // with the number it is never used again
  };
  Known Remember(std::unique_ptr<Node> node);
  // Takes back so many lookups.
  void Forget(NodeNumber number, uint64_t lookups);

  // 0 if the kernel does not know the node; the latest number that Remember() gave it.
  NodeNumber Find(const NodeId& id) const;
  // Find() for a notification of the kernel about the node: before it and after it.
  NodeNumber FindToNotify(const NodeId& id);
  // Whether a lock of it was ever asked for.
  std::atomic<bool>& WasLocked(NodeNumber number) { return HeldAt(number).was_locked; }
  KernelSize& SizeOf(NodeNumber number) { return HeldAt(number).size; }
  // Returns the ids of all nodes that the kernel knows.
  std::vector<NodeId> All() const;

  // Notes a name of a directory that the kernel is about to cache, so that TakeNames() has it. Of
  // more than kNamesMax all are forgotten: then the kernel's timeouts alone end what it caches.
  // `subdirectory`: what it leads to, if that is a directory.
  void NoteName(NodeNumber directory, std::string_view name,
                std::optional<NodeId> subdirectory = {});
  // Notes a name if the kernel still knows the directory.
  void NoteName(const NodeId& directory, std::string_view name, std::optional<NodeId> subdirectory);
  // Whether TakeNames() would have it, or has it until EndTaken().
  bool IsNoted(NodeNumber directory, const std::string& name) const;
  struct Names {
    NodeNumber directory = 0;  // 0 if the kernel does not know it
    std::vector<std::string> names;
    std::shared_ptr<const Node> node;                        // the directory
    std::unordered_map<std::string, NodeId> subdirectories;  // those of `names` that lead to one
  };
  // Takes the names that were noted of a directory. By one thread, as TakeName().
  Names TakeNames(const NodeId& directory);
  // Takes one name, noted or not.
  Names TakeName(const NodeId& directory, const std::string& name);
  // The kernel was told of what was taken last.
  void EndTaken();

 private:
  struct Held {
    std::shared_ptr<const Node> node;
    NodeId id;
    uint64_t generation = 0;
    uint64_t lookups = 0;  // guarded by mutex_
    // Guarded by mutex_. As those of NoteName().
    std::unordered_map<std::string, std::optional<NodeId>> names = {};
    KernelSize size = {};
    std::atomic<bool> was_locked = false;
  };

  const Held& HeldAt(NodeNumber number) const {
    return number == kRootNumber ? root_ : *reinterpret_cast<const Held*>(number);
  }
  Held& HeldAt(NodeNumber number) { return const_cast<Held&>(std::as_const(*this).HeldAt(number)); }
  NodeNumber NumberOf(const Held* held) const {
    return held == &root_ ? kRootNumber : reinterpret_cast<NodeNumber>(held);
  }
  // Preconditions: mutex_.
  const Held* FindHeld(const NodeId& id) const;
  void NoteLocked(Held& held, std::string_view name, const std::optional<NodeId>& subdirectory);

  Held root_;
  mutable std::mutex mutex_;
  uint64_t generation_ = 0;                                 // guarded by mutex_
  size_t names_ = 0;                                        // noted; guarded by mutex_
  NodeNumber taken_from_ = 0;                               // guarded by mutex_
  std::unordered_set<std::string> taken_;                   // of it; guarded by mutex_
  std::unordered_map<NodeId, std::unique_ptr<Held>> held_;  // guarded by mutex_; without the root
  // Stale ones that another took the place of.
  std::unordered_map<const Held*, std::unique_ptr<Held>> replaced_;  // guarded by mutex_
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_NODE_TABLE_H_
