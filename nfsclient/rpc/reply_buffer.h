// reply_buffer: memory that records are received into, shared between a connection and the calls
// whose replies lie in it. Nothing is copied on the way to the decoder.
//
// Thread safety: distinct ReplySlices may be used by distinct threads.
#ifndef NFSWALK_NFSCLIENT_RPC_REPLY_BUFFER_H_
#define NFSWALK_NFSCLIENT_RPC_REPLY_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "nfsclient/protocol/data_memory.h"

namespace nfswalk::rpc {

// A reference to a buffer and a part of it.
class ReplySlice {
 public:
  ReplySlice() = default;
  ReplySlice(ReplySlice&& other) noexcept
      : buffer_(std::exchange(other.buffer_, nullptr)), bytes_(std::exchange(other.bytes_, {})) {}
  ReplySlice& operator=(ReplySlice&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ReplySlice() { Release(); }

  // Returns a whole new buffer; an empty slice without memory.
  static ReplySlice Allocate(size_t bytes) noexcept {
    ReplySlice slice;
    protocol::DataMemory memory = protocol::NewDataMemory(bytes);
    if (memory == nullptr) return slice;
    slice.buffer_ = new (std::nothrow) Buffer{std::move(memory)};
    if (slice.buffer_ != nullptr) slice.bytes_ = {slice.buffer_->memory.get(), bytes};
    return slice;
  }
  // Returns another reference, to a part.
  ReplySlice Part(size_t offset, size_t bytes) const {
    ReplySlice part;
    buffer_->references.fetch_add(1);
    part.buffer_ = buffer_;
    part.bytes_ = bytes_.subspan(offset, bytes);
    return part;
  }

  // Returns whether no other slice refers to the buffer, whose bytes may then be written again.
  bool is_unique() const { return buffer_->references.load() == 1; }
  std::span<std::byte> bytes() const { return bytes_; }
  bool empty() const { return buffer_ == nullptr; }

 private:
  struct Buffer {
    protocol::DataMemory memory;
    std::atomic<uint32_t> references{1};
  };

// GCC 14 and later do not see that a std::optional destroys what it has alone.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
  void Release() {
    if (buffer_ != nullptr && buffer_->references.fetch_sub(1) == 1) delete buffer_;
  }
#pragma GCC diagnostic pop

  Buffer* buffer_ = nullptr;
  std::span<std::byte> bytes_;
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_REPLY_BUFFER_H_
