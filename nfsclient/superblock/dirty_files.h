// dirty_files: which files of a mount have data that the server may lose, and how much memory it
// takes (balance_dirty_pages()); open files whose data has left, until they may be closed; and how
// often this client has changed the contents of a file, for read-ahead.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_DIRTY_FILES_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_DIRTY_FILES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "nfsclient/icache/inode.h"
#include "rcu/mix64.h"

namespace nfswalk::data {
class WriteBack;
}

namespace nfswalk::nfs {

struct OpenContext;

class DirtyFiles {
 public:
  explicit DirtyFiles(size_t bytes_max) : bytes_max_of_mount_(bytes_max), bytes_max_(bytes_max) {}

  using Entry = std::shared_ptr<data::WriteBack>;

  // The data of `inode`; null if nothing of it has to be written back.
  Entry Find(const icache::Inode& inode) const {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(&inode);
    return found == files_.end() ? nullptr : found->second;
  }
  // Find(), or what `make()` makes. Throws std::bad_alloc. Preconditions: the file's i_rwsem.
  template <typename Make>
  Entry FindOrMake(const icache::Inode& inode, Make make) {
    Entry file = Find(inode);
    if (file != nullptr) return file;
    file = make();
    const std::lock_guard lock(mutex_);
    files_[&inode] = file;
    return file;
  }
  // `file` has no data left. False if it is not the inode's any more: one that a thread found
  // before it was erased, and flushes. Preconditions: the file's i_rwsem; the caller holds an
  // Entry.
  bool Erase(const icache::Inode& inode, const data::WriteBack& file) {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(&inode);
    if (found == files_.end() || found->second.get() != &file) return false;
    files_.erase(found);
    return true;
  }
  // Throws std::bad_alloc.
  std::vector<Entry> All() const {
    const std::lock_guard lock(mutex_);
    std::vector<Entry> all;
    all.reserve(files_.size());
    for (const auto& [inode, file] : files_) all.push_back(file);
    return all;
  }
  // Open files whose data has left, to be closed by DropLeft().
  using Contexts = std::list<std::shared_ptr<const OpenContext>>;
  void Leave(Contexts& contexts, Contexts::iterator context) {
    const std::lock_guard lock(mutex_);
    left_.splice(left_.end(), contexts, context);
  }
  // Preconditions: no lock, as what closes a file needs.
  void DropLeft() {
    Contexts left;
    const std::lock_guard lock(mutex_);
    left.swap(left_);
  }
  // At the end of the mount: what was not written is lost. Preconditions: the protocol is shut
  // down, so that calls in flight end.
  void Clear() {
    DropLeft();
    Files all;
    const std::lock_guard lock(mutex_);
    files_.swap(all);
  }

  // Counts the steps after which a READ that was sent before may bring old bytes of `inode`: before
  // and after each change of its contents by this client, at the replies to its WRITEs and COMMITs,
  // and where a lock is taken. Files may share a counter.
  void NoteWrite(const icache::Inode& inode) { CounterOf(inode).fetch_add(1); }
  uint64_t Writes(const icache::Inode& inode) { return CounterOf(inode).load(); }

  // Memory of buffers. A few writers together may pass the limit.
  std::atomic<size_t>& charged_bytes() { return bytes_; }
  size_t bytes() const { return bytes_.load(); }
  size_t bytes_max() const { return bytes_max_.load(); }
  bool IsFull() const { return bytes() >= bytes_max(); }
  // For a shortage of memory: a quarter of the limit, until Grow(). Writers do the rest.
  void Shrink() { bytes_max_.store(bytes_max_of_mount_ / 4); }
  void Grow() { bytes_max_.store(bytes_max_of_mount_); }

 private:
  using Files = std::unordered_map<const icache::Inode*, Entry>;
  static constexpr size_t kCounters = 256;
  std::atomic<uint64_t>& CounterOf(const icache::Inode& inode) {
    return writes_[rcu::Mix64(reinterpret_cast<uintptr_t>(&inode)) % kCounters];
  }

  const size_t bytes_max_of_mount_;
  std::atomic<size_t> bytes_max_;
  std::atomic<size_t> bytes_{0};
  std::array<std::atomic<uint64_t>, kCounters> writes_{};
  mutable std::mutex mutex_;  // a leaf
  Files files_;               // guarded by mutex_, and below
  Contexts left_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_DIRTY_FILES_H_
