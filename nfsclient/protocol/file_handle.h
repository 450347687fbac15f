// file_handle: the opaque file handle of a server (RFC 1813 2.3.3, RFC 7530 4).
//
// At most 128 bytes (version 3: 64), compared byte by byte, never interpreted.
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_FILE_HANDLE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_FILE_HANDLE_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace nfswalk::protocol {

class FileHandle {
 public:
  static constexpr size_t kMaxSize = 128;

  FileHandle() = default;
  // Preconditions: bytes.size() <= kMaxSize.
  explicit FileHandle(std::span<const uint8_t> bytes) : size_(static_cast<uint8_t>(bytes.size())) {
    if (!bytes.empty()) std::memcpy(data_.data(), bytes.data(), bytes.size());
  }

  std::span<const uint8_t> bytes() const { return {data_.data(), size_}; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  friend bool operator==(const FileHandle& a, const FileHandle& b) {
    return a.size_ == b.size_ && std::memcmp(a.data_.data(), b.data_.data(), a.size_) == 0;
  }

 private:
  uint8_t size_ = 0;
  std::array<uint8_t, kMaxSize> data_{};
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_FILE_HANDLE_H_
