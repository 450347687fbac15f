// kernel_size: how long a file is to the kernel (i_size), as far as replies say.
//
// The kernel drops the attributes of a reply if it was notified of the inode since it made the
// request (fs/fuse/inode.c: fuse_change_attributes(), attr_version): its size stays what it was
// before, though it asks again for the others. The moments when a request was made, and when its
// reply was taken in, are not known here: a size is uncertain if a notification came within kSettle
// of either.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_KERNEL_SIZE_H_
#define NFSWALK_NFSCLIENT_MOUNT_KERNEL_SIZE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace nfswalk::mount {

class KernelSize {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds kSettle{1};
  // As the time of a request whose reply's attributes the kernel always takes in.
  static constexpr Time kAlways = Time::max();

  KernelSize() = default;
  KernelSize(const KernelSize&) = delete;
  KernelSize& operator=(const KernelSize&) = delete;

  // A reply to the request received at `received` says the size: before it is sent. `times`: of the
  // attributes (TimesOf()).
  void Tell(uint64_t bytes, Time received, Time now = Now(), uint64_t times = 0) {
    const std::lock_guard lock(mutex_);
    times_ = times;
    if (bytes_ == bytes && is_certain_) return;  // whether it is dropped or not
    bytes_ = bytes;
    received_ = received;
    told_ = now;
    const bool overlapped = written_ && *written_ >= received;
    is_certain_ = received == kAlways ||
                  (!overlapped && (!notified_ || received - *notified_ > kSettle));
  }
  // The kernel was notified of the inode: before and after it is.
  void Notify(Time now = Now()) {
    const std::lock_guard lock(mutex_);
    notified_ = now;
    if (received_ != kAlways && now - told_ < kSettle) is_certain_ = false;
  }
  // write(2): the kernel's own size grows.
  void Write(uint64_t end, Time now = Now()) {
    const std::lock_guard lock(mutex_);
    written_ = now;
    if (bytes_) bytes_ = std::max(*bytes_, end);
  }
  // A READ ended there, where the kernel cuts the file (fuse_read_update_size()), mostly.
  void EndRead(uint64_t end) {
    const std::lock_guard lock(mutex_);
    if (bytes_ && end < *bytes_) bytes_ = std::nullopt;
  }

  // True if that is the kernel's size for sure. `since`: the caller has sent no request before it
  // that is not answered, so that no notification before it matters.
  bool Is(uint64_t bytes, std::optional<Time> since) {
    const std::lock_guard lock(mutex_);
    if (bytes_ != bytes) return false;
    if (since && received_ >= *since && (!notified_ || *notified_ <= *since)) {
      is_certain_ = true;
      received_ = kAlways;
    }
    return is_certain_;
  }
  // True if the last reply had attributes with these times.
  bool HasTimes(uint64_t times) const {
    const std::lock_guard lock(mutex_);
    return times_ == times;
  }

  static Time Now() { return std::chrono::steady_clock::now(); }

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::optional<uint64_t> bytes_;
  uint64_t times_ = 0;
  Time received_{};
  Time told_{};
  std::optional<Time> notified_;
  std::optional<Time> written_;
  bool is_certain_ = false;
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_KERNEL_SIZE_H_
