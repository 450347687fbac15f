// script: a fuzzer's input, read from its beginning; behind its end are zeros, by which every call
// is answered well.
//
// Thread safety: none.
#ifndef NFSWALK_TESTS_FUZZ_WIRE_SCRIPT_H_
#define NFSWALK_TESTS_FUZZ_WIRE_SCRIPT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nfswalk::fuzz {

class Script {
 public:
  explicit Script(std::string_view input) : input_(input) {}

  uint8_t U8() {
    const size_t at = position_++;
    return at < input_.size() ? static_cast<uint8_t>(input_[at]) : uint8_t{0};
  }
  uint16_t U16() {
    const int high = U8();
    return static_cast<uint16_t>(high << 8 | U8());
  }
  // Up to `size` bytes: what is there.
  std::string Bytes(size_t size) {
    const std::string bytes(input_.substr(std::min(position_, input_.size()), size));
    position_ += bytes.size();
    return bytes;
  }
  bool has_ended() const { return position_ >= input_.size(); }
  // Bytes read, beyond the end too.
  size_t position() const { return position_; }

 private:
  const std::string_view input_;
  size_t position_ = 0;
};

}  // namespace nfswalk::fuzz

#endif  // NFSWALK_TESTS_FUZZ_WIRE_SCRIPT_H_
