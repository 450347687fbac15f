// owned_fd: a file descriptor that closes itself.
#ifndef NFSWALK_BENCH_MEASURE_OWNED_FD_H_
#define NFSWALK_BENCH_MEASURE_OWNED_FD_H_

#include <unistd.h>

#include <utility>

namespace nfswalk::bench {

class OwnedFd {
 public:
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  // Negative if there is none.
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_OWNED_FD_H_
