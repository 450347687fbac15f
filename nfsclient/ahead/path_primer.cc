#include "nfsclient/ahead/path_primer.h"

#include <algorithm>
#include <utility>

#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/prime.h"
#include "nfsclient/nfs/splice.h"

namespace nfswalk::nfs {

using icache::Inode;
using vfs::DentryRef;
using vfs::InodeLocks;

PathNames SplitPath(const Superblock& superblock, std::string_view path) {
  // Bounds one request; more than paths have in practice.
  constexpr size_t kNamesMax = 64;
  PathNames result;
  size_t at = 0;
  // Dots and slashes count too: the split is repeated for each component of a path not primed.
  for (size_t pieces = 0; at < path.size() && pieces < kNamesMax; ++pieces) {
    const size_t length = std::min(path.find('/', at), path.size()) - at;
    const std::string_view name = path.substr(at, length);
    if (length > vfs::kNameMax || length > superblock.limits.name_bytes_max) break;
    if (length != 0 && name != ".") result.names.push_back(name);
    result.bytes = at + length;
    at = result.bytes + 1;
  }
  return result;
}

void PathPrimer::Begin(DentryRef& directory, const protocol::LookupPathReply& reply) {
  at_ = directory.Copy();
  Inode& inode = *at_.inode();
  if (reply.error == protocol::kStale && reply.steps.empty()) MarkStale(superblock_, inode);
  if (!reply.directory) return;
  (void)UpdateAttributes(superblock_, inode, *reply.directory, stamp_, &context_);
  CacheAccess(inode, reply.granted);
  due_.Note(inode, context_);
}

bool PathPrimer::Step(std::string_view name, const protocol::PathStep& step) {
  const bool primed = name == ".." ? StepUp(step) : StepDown(name, step);
  is_locked_ = false;
  return primed;
}

void PathPrimer::End(std::string_view name) {
  const vfs::PaddedName padded(name, at_.get());
  InodeLocks::Shared lock;
  if (!TakeLock(lock) || !IsLatest(*at_.inode(), context_)) return;
  if (DentryRef known = superblock_.dentries.Lookup(*at_, padded.name())) {
    superblock_.dentries.Drop(*known);
    if (known.inode() != nullptr) {
      superblock_.invalidations.Post(InvalidReason::kName, *at_.inode(), name);
    }
  }
  (void)SpliceChild(superblock_, at_, padded.name(), {}, context_.change_id);
}

bool PathPrimer::TakeLock(InodeLocks::Shared& lock) {
  if (is_locked_) return true;
  lock = superblock_.inode_locks.LockShared(*at_.inode());
  return lock.owns_lock();
}

void PathPrimer::CacheAccess(Inode& inode, std::optional<uint32_t> granted) {
  if (!granted || context_.generation == 0) return;
  nfs::CacheAccess(superblock_, inode, credential_, *granted, stamp_.sent_at_ns, context_.epoch);
}

bool PathPrimer::StepDown(std::string_view name, const protocol::PathStep& step) {
  const vfs::PaddedName padded(name, at_.get());
  ReplyContext context;
  DentryRef child;
  {
    InodeLocks::Shared lock;
    if (!TakeLock(lock) || !IsLatest(*at_.inode(), context_)) return false;
    child = PrimeName(superblock_, at_, padded.name(), step.handle, step.attributes, stamp_,
                      context_.change_id, &context);
  }
  if (!child || child.inode() == nullptr) return false;
  at_ = std::move(child);
  context_ = context;
  CacheAccess(*at_.inode(), step.granted);
  due_.Note(*at_.inode(), context_);
  return true;
}

// `..` is the dentry's parent, whatever directory the server answered with.
bool PathPrimer::StepUp(const protocol::PathStep& step) {
  if (at_.get() == superblock_.root.get()) return false;
  at_ = superblock_.dentries.Parent(*at_);
  Inode& inode = *at_.inode();
  ReplyContext context;
  if (!inode.HasHandle(step.handle) ||
      UpdateAttributes(superblock_, inode, step.attributes, stamp_, &context) != std::errc{}) {
    return false;
  }
  context_ = context;
  CacheAccess(inode, step.granted);
  return true;
}

}  // namespace nfswalk::nfs
