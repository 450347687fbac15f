// wire_reply: a reply decoded by libnfs.
//
// Allocates the bytes in their exact size, so that a sanitizer detects reads beyond them.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_WIRE_REPLY_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_WIRE_REPLY_H_

#include <cstring>
#include <memory>
#include <string_view>

#include "tests/unit/nfsclient/protocol/libnfs_raw.h"

namespace nfswalk::protocol {

template <typename Wire>
class WireReply {
 public:
  // `decode`: libnfs' zdr_*() of Wire.
  WireReply(std::string_view bytes, uint32_t (*decode)(ZDR*, Wire*))
      : bytes_(std::make_unique<char[]>(bytes.size())) {
    std::memcpy(bytes_.get(), bytes.data(), bytes.size());
    zdrmem_create(&zdr_, bytes_.get(), static_cast<uint32_t>(bytes.size()), ZDR_DECODE);
    parsed_ = decode(&zdr_, &wire_) != 0;
  }
  ~WireReply() { zdr_destroy(&zdr_); }
  WireReply(const WireReply&) = delete;
  WireReply& operator=(const WireReply&) = delete;

  // Returns whether libnfs decoded the reply.
  bool parsed() const { return parsed_; }
  const Wire& wire() const { return wire_; }

 private:
  const std::unique_ptr<char[]> bytes_;
  ZDR zdr_{};
  Wire wire_{};
  bool parsed_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_WIRE_REPLY_H_
