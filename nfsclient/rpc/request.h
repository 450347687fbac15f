// request: what a call asks: its procedure and its arguments, encoded once however often it is
// sent.
//
// Thread safety: none.
#ifndef NFSWALK_NFSCLIENT_RPC_REQUEST_H_
#define NFSWALK_NFSCLIENT_RPC_REQUEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

struct ZDR;

namespace nfswalk::rpc {

// XDR in memory of its own, by libnfs' encoders. What would not fit is not encoded and makes it
// bad. libnfs does not check the length of fixed-size opaque data (4.0.0), so `bytes_max` is what
// the values take at most.
class XdrBuffer {
 public:
  static constexpr size_t kInlineBytes = 1024;

  // Throws std::bad_alloc if `bytes_max` is more than kInlineBytes.
  explicit XdrBuffer(size_t bytes_max = kInlineBytes);

  // Appends `value` by `encode`, libnfs' zdr_*() of its type.
  template <typename Value>
  void Append(uint32_t (*encode)(ZDR*, Value*), Value& value) {
    AppendBy(reinterpret_cast<Encode>(encode), &value);
  }
  // Replaces the last four bytes: the length of data that is sent from where it lies.
  void SetLastWord(uint32_t value);

  bool good() const { return good_; }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }

 private:
  using Encode = uint32_t (*)(ZDR*, void*);

  void AppendBy(Encode encode, void* value);
  const std::byte* data() const { return heap_ ? heap_.get() : inline_.data(); }
  std::byte* data() { return heap_ ? heap_.get() : inline_.data(); }

  const size_t capacity_;
  size_t size_ = 0;
  bool good_ = true;
  const std::unique_ptr<std::byte[]> heap_;  // null: inline_
  std::array<std::byte, kInlineBytes> inline_;
};

// Borrows its parts, which are sent one after the other: `arguments`, `data` and its padding to
// four bytes, `tail`.
struct Request {
  struct Program {
    uint32_t number, version;
  };

  std::optional<Program> program = std::nullopt;  // if it is not the connection's
  uint32_t procedure = 0;
  // Number of operations of a COMPOUND, without SEQUENCE: the connection writes the head, which has
  // both.
  std::optional<uint32_t> operations = std::nullopt;
  bool in_session = true;  // false: one that begins or ends a session
  // It must not be executed twice: the server is to keep the reply (RFC 8881 2.10.6.1.3).
  bool is_cached = false;
  uint32_t counts_as = 0;  // in ReplyCounts
  std::span<const std::byte> arguments = {};
  std::span<const std::byte> data = {};
  std::span<const std::byte> tail = {};
  // The longest results that a server may answer with. A longer record costs it the connection.
  uint32_t results_bytes_max = 0;
  // The place of the data of a call that reads. `find_data` returns the offset of the data's length
  // in results of which the beginning is given, nullopt if it is not (yet) known.
  std::span<std::byte> data_into = {};
  std::optional<size_t> (*find_data)(std::span<const std::byte> results) = nullptr;
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_REQUEST_H_
