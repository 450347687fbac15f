// operations_limit: how many operations a server takes in one COMPOUND, learnt from what it refuses
// (NFS4ERR_RESOURCE; version 4.0 has no way to ask).
//
// Thread safety: all functions. Threads that learn at once may learn a little less.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_OPERATIONS_LIMIT_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_OPERATIONS_LIMIT_H_

#include <algorithm>
#include <cstddef>
#include <mutex>

namespace nfswalk::protocol {

class OperationsLimit {
 public:
  // Taken by any server.
  static constexpr size_t kMin = 7;
  // Not worth a refused call to find out better.
  static constexpr size_t kExactEnough = 4;

  // The most operations to send next. No limit until something was refused, then halfway between
  // what was taken and what was not.
  size_t Try() const {
    std::lock_guard guard(mutex_);
    if (refused_ == kNone) return kNone;
    if (refused_ - taken_ <= kExactEnough) return taken_;
    return taken_ + (refused_ - taken_) / 2;
  }

  void Learn(size_t operations, bool refused) {
    std::lock_guard guard(mutex_);
    if (!refused) {
      taken_ = std::max(taken_, operations);
    } else {
      refused_ = std::min(refused_, operations);
    }
    // A server may take less than before, when it is short of memory.
    if (taken_ >= refused_) taken_ = std::max(kMin, refused_ / 2);
    if (taken_ >= refused_) refused_ = taken_ + 1;
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  mutable std::mutex mutex_;
  size_t taken_ = kMin;
  size_t refused_ = kNone;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_OPERATIONS_LIMIT_H_
