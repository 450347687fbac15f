// file_systems_without: the file systems of an export of which the server has said that they have
// something not, by fsid, so that it is asked once.
//
// Bounded: the oldest ones are forgotten, and asked about again. Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_FILE_SYSTEMS_WITHOUT_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_FILE_SYSTEMS_WITHOUT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace nfswalk::nfs {

class FileSystemsWithout {
 public:
  static constexpr size_t kMax = 64;

  bool Has(uint64_t fsid) const {
    const std::lock_guard lock(mutex_);
    const auto end = fsids_.begin() + static_cast<ptrdiff_t>(std::min(added_, kMax));
    return std::find(fsids_.begin(), end, fsid) != end;
  }
  void Add(uint64_t fsid) {
    if (Has(fsid)) return;
    const std::lock_guard lock(mutex_);
    fsids_[added_++ % kMax] = fsid;
  }

 private:
  mutable std::mutex mutex_;
  std::array<uint64_t, kMax> fsids_{};  // this and below: guarded by mutex_
  size_t added_ = 0;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_FILE_SYSTEMS_WITHOUT_H_
