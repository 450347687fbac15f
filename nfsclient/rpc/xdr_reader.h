// xdr_reader: decodes XDR (RFC 4506) that a server sent.
//
// No length is used before it was compared with what is left. What does not fit makes the reader
// bad for good: from then on it yields zeros and empty views, so that a decoder checks once, at its
// end. Views point into the bytes given.
//
// Thread safety: none.
#ifndef NFSWALK_NFSCLIENT_RPC_XDR_READER_H_
#define NFSWALK_NFSCLIENT_RPC_XDR_READER_H_

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace nfswalk::rpc {

class XdrReader {
 public:
  explicit XdrReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  // Bytes before `placed_at`, the last `placed_bytes` of the data of a Data(), are where they go.
  XdrReader(std::span<const std::byte> bytes, const std::byte* placed_at, size_t placed_bytes)
      : rest_(bytes), placed_at_(placed_at), placed_bytes_(placed_bytes) {}

  // Returns whether everything asked for was there.
  bool good() const { return good_; }
  size_t bytes_left() const { return rest_.size(); }
  // Makes the reader bad, for a value that the caller refuses.
  void Fail() {
    good_ = false;
    rest_ = {};
  }

  uint32_t U32() {
    uint32_t wire = 0;
    if (const std::byte* at = Take(sizeof wire)) std::memcpy(&wire, at, sizeof wire);
    return ntohl(wire);
  }
  uint64_t U64() {
    const uint64_t high = U32();
    return high << 32 | U32();
  }
  // Any number but 0 is true, as Linux has it.
  bool Bool() { return U32() != 0; }
  // Reads fixed-length opaque data with its padding.
  std::string_view Opaque(size_t bytes) {
    const std::byte* at = bytes > rest_.size() ? Take(bytes) : Take(bytes + Padding(bytes));
    return at == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(at), bytes);
  }
  // Reads variable-length opaque data or a string. Bad if it is longer than `bytes_max`.
  std::string_view Bytes(size_t bytes_max) {
    const size_t bytes = U32();
    if (bytes > bytes_max) Fail();
    return Opaque(good_ ? bytes : 0);
  }
  // Reads variable-length opaque data into `into` and returns its size. Bad if it is longer.
  size_t Data(std::span<std::byte> into) {
    const size_t bytes = U32();
    const size_t here = bytes - std::min(bytes, placed_bytes_);
    const bool fits = bytes <= into.size() && here + Padding(bytes) <= rest_.size() &&
                      (placed_bytes_ == 0 || rest_.data() + here == placed_at_);
    if (!fits) Fail();
    if (!good_) return 0;
    if (here != 0) std::memcpy(into.data(), Take(here), here);
    Skip(Padding(bytes));
    return bytes;
  }
  void Skip(size_t bytes) { (void)Take(bytes); }

 private:
  static constexpr size_t Padding(size_t bytes) { return -bytes % 4; }

  // Returns nullptr if there are not as many left.
  const std::byte* Take(size_t bytes) {
    if (bytes > rest_.size()) Fail();
    if (!good_) return nullptr;
    const std::byte* at = rest_.data();
    rest_ = rest_.subspan(bytes);
    return at;
  }

  std::span<const std::byte> rest_;
  const std::byte* placed_at_ = nullptr;
  size_t placed_bytes_ = 0;
  bool good_ = true;
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_XDR_READER_H_
