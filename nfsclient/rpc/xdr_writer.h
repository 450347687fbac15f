// xdr_writer: encodes XDR (RFC 4506) in memory that grows.
//
// Thread safety: none.
#ifndef NFSWALK_NFSCLIENT_RPC_XDR_WRITER_H_
#define NFSWALK_NFSCLIENT_RPC_XDR_WRITER_H_

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace nfswalk::rpc {

// Functions that add throw std::bad_alloc.
class XdrWriter {
 public:
  XdrWriter() = default;
  XdrWriter(const XdrWriter&) = delete;
  XdrWriter& operator=(const XdrWriter&) = delete;

  XdrWriter& U32(uint32_t value) {
    const uint32_t wire = htonl(value);
    std::memcpy(Extend(sizeof wire), &wire, sizeof wire);
    return *this;
  }
  XdrWriter& U64(uint64_t value) {
    return U32(static_cast<uint32_t>(value >> 32)).U32(static_cast<uint32_t>(value));
  }
  XdrWriter& Bool(bool value) { return U32(value ? 1 : 0); }
  // Fixed-length opaque data, padded.
  XdrWriter& Opaque(std::string_view bytes) {
    const size_t padding = -bytes.size() % 4;
    std::byte* const at = Extend(bytes.size() + padding);
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), at);
    std::fill_n(at + bytes.size(), padding, std::byte{0});
    return *this;
  }
  // Variable-length opaque data, or a string.
  XdrWriter& Bytes(std::string_view bytes) {
    return U32(static_cast<uint32_t>(bytes.size())).Opaque(bytes);
  }
  // Replaces a word that was added before, at that many bytes from the beginning.
  void Replace(size_t at_bytes, uint32_t value) {
    const uint32_t wire = htonl(value);
    std::memcpy(data() + at_bytes, &wire, sizeof wire);
  }

  // Drops what was added behind the first `bytes`.
  void Cut(size_t bytes) { size_ = bytes; }

  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {heap_ ? heap_.get() : inline_.data(), size_}; }

 private:
  // Most requests fit.
  static constexpr size_t kInlineBytes = 1024;

  std::byte* data() { return heap_ ? heap_.get() : inline_.data(); }
  std::byte* Extend(size_t bytes) {
    if (size_ + bytes > capacity_) Grow(size_ + bytes);
    std::byte* const at = data() + size_;
    size_ += bytes;
    return at;
  }
  void Grow(size_t bytes_min) {
    const size_t capacity = std::max(capacity_ * 2, bytes_min);
    auto grown = std::make_unique_for_overwrite<std::byte[]>(capacity);
    std::copy_n(data(), size_, grown.get());
    heap_ = std::move(grown);
    capacity_ = capacity;
  }

  size_t size_ = 0;
  size_t capacity_ = kInlineBytes;
  std::unique_ptr<std::byte[]> heap_;  // null: inline_
  std::array<std::byte, kInlineBytes> inline_;
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_XDR_WRITER_H_
