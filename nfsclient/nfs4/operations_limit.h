// operations_limit: estimates how many operations a server accepts in one COMPOUND, from what it
// refuses (NFS4ERR_RESOURCE; version 4.0 has no attribute for it), or from what a session allows.
//
// Thread safety: all functions. Concurrent Record() calls may lower the estimate more than needed.
#ifndef NFSWALK_NFSCLIENT_NFS4_OPERATIONS_LIMIT_H_
#define NFSWALK_NFSCLIENT_NFS4_OPERATIONS_LIMIT_H_

#include <algorithm>
#include <cstddef>
#include <mutex>

namespace nfswalk::protocol {

class OperationsLimit {
 public:
  // Accepted by any server: one name.
  static constexpr size_t kMin = 7;
  // The search ends this close to the server's limit, to save refused calls.
  static constexpr size_t kPrecision = 4;

  // Returns the most operations to send. Unlimited until a COMPOUND is refused, then halfway
  // between the largest accepted and the smallest refused.
  size_t MaxToSend() const {
    std::lock_guard guard(mutex_);
    if (refused_ == kNone) return kNone;
    if (refused_ - accepted_ <= kPrecision) return accepted_;
    return accepted_ + (refused_ - accepted_) / 2;
  }

  // Takes it from a server that says it: that many are accepted, and no more.
  void Set(size_t operations) {
    std::lock_guard guard(mutex_);
    accepted_ = std::max(kMin, operations);
    refused_ = accepted_ + 1;
  }

  // Records whether the server refused a COMPOUND of that many operations.
  void Record(size_t operations, bool refused) {
    std::lock_guard guard(mutex_);
    if (!refused) {
      accepted_ = std::max(accepted_, operations);
    } else {
      refused_ = std::min(refused_, operations);
    }
    // The server's limit may shrink, with its memory.
    if (accepted_ >= refused_) accepted_ = std::max(kMin, refused_ / 2);
    if (accepted_ >= refused_) refused_ = accepted_ + 1;
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  mutable std::mutex mutex_;
  size_t accepted_ = kMin;
  size_t refused_ = kNone;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_OPERATIONS_LIMIT_H_
