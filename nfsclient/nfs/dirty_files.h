// dirty_files: which files of a mount have data that the server may lose, and how much memory it
// takes (balance_dirty_pages()).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_NFS_DIRTY_FILES_H_
#define NFSWALK_NFSCLIENT_NFS_DIRTY_FILES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "nfsclient/icache/inode.h"
#include "rcu/mix64.h"

namespace nfswalk::nfs {

class DirtyData;

class DirtyFiles {
 public:
  explicit DirtyFiles(size_t bytes_max) : bytes_max_of_mount_(bytes_max), bytes_max_(bytes_max) {}

  // The data of `inode`; null if none was written since its last writer closed it.
  std::shared_ptr<DirtyData> Find(const icache::Inode& inode) const {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(&inode);
    return found == files_.end() ? nullptr : found->second.lock();
  }
  // The same, by `make()` if there is none. Throws std::bad_alloc. Preconditions: the inode's lock.
  template <typename Make>
  std::shared_ptr<DirtyData> FindOrMake(const icache::Inode& inode, Make make) {
    std::shared_ptr<DirtyData> data = Find(inode);
    if (data != nullptr) return data;
    data = make();  // without the mutex: without memory it is destroyed at once, which erases it
    const std::lock_guard lock(mutex_);
    files_[&inode] = data;
    return data;
  }
  // Of data that is destroyed: another one may be in its place.
  void Erase(const icache::Inode& inode) {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(&inode);
    if (found != files_.end() && found->second.expired()) files_.erase(found);
  }
  std::vector<std::shared_ptr<DirtyData>> All() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<DirtyData>> all;
    all.reserve(files_.size());
    for (const auto& [inode, data] : files_) {
      if (auto alive = data.lock()) all.push_back(std::move(alive));
    }
    return all;
  }

  // Counts the writes and truncations of this client to `inode`, before each: what was read before
  // one is old. Files may share a counter.
  void NoteWrite(const icache::Inode& inode) { CounterOf(inode).fetch_add(1); }
  uint64_t Writes(const icache::Inode& inode) { return CounterOf(inode).load(); }

  // Memory of buffers. A few writers together may pass the limit.
  void Charge(size_t bytes) { bytes_.fetch_add(bytes); }
  void Discharge(size_t bytes) { bytes_.fetch_sub(bytes); }
  size_t bytes() const { return bytes_.load(); }
  size_t bytes_max() const { return bytes_max_.load(); }
  bool IsFull() const { return bytes() >= bytes_max(); }
  // For a shortage of memory: a quarter of the limit, until Grow(). Writers do the rest.
  void Shrink() { bytes_max_.store(bytes_max_of_mount_ / 4); }
  void Grow() { bytes_max_.store(bytes_max_of_mount_); }

 private:
  static constexpr size_t kCounters = 256;
  std::atomic<uint64_t>& CounterOf(const icache::Inode& inode) {
    return writes_[rcu::Mix64(reinterpret_cast<uintptr_t>(&inode)) % kCounters];
  }

  const size_t bytes_max_of_mount_;
  std::atomic<size_t> bytes_max_;
  std::atomic<size_t> bytes_{0};
  std::array<std::atomic<uint64_t>, kCounters> writes_{};
  mutable std::mutex mutex_;                                                  // a leaf
  std::unordered_map<const icache::Inode*, std::weak_ptr<DirtyData>> files_;  // guarded by mutex_
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_DIRTY_FILES_H_
