// error_sequence: an error of a file's write-back, reported once to each open file (errseq_t).
//
// Thread safety: all functions; a Seen is its file's own.
#ifndef NFSWALK_NFSCLIENT_NFS_ERROR_SEQUENCE_H_
#define NFSWALK_NFSCLIENT_NFS_ERROR_SEQUENCE_H_

#include <cstdint>
#include <mutex>
#include <system_error>

namespace nfswalk::nfs {

class ErrorSequence {
 public:
  using Seen = uint64_t;

  // mapping_set_error: the later one replaces the earlier.
  void Set(std::errc error) {
    const std::lock_guard lock(mutex_);
    error_ = error;
    ++count_;
    was_reported_ = false;
  }
  // errseq_sample: an error that nobody was told is not seen yet.
  Seen Sample() const {
    const std::lock_guard lock(mutex_);
    return was_reported_ ? count_ : 0;
  }
  // errseq_check_and_advance.
  [[nodiscard]] std::errc CheckAndAdvance(Seen& seen) {
    const std::lock_guard lock(mutex_);
    if (seen == count_) return {};
    seen = count_;
    was_reported_ = true;
    return error_;
  }

 private:
  mutable std::mutex mutex_;  // a leaf
  std::errc error_{};
  uint64_t count_ = 0;
  bool was_reported_ = false;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_ERROR_SEQUENCE_H_
