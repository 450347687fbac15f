#include "nfsclient/rpc/request.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-zdr.h>
// clang-format on

#include <arpa/inet.h>

#include <cstring>

namespace nfswalk::rpc {

XdrBuffer::XdrBuffer(size_t bytes_max)
    : capacity_(bytes_max), heap_(bytes_max > kInlineBytes ? new std::byte[bytes_max] : nullptr) {}

void XdrBuffer::AppendBy(Encode encode, void* value) {
  if (!good_) return;
  ZDR zdr{};
  zdrmem_create(&zdr, reinterpret_cast<caddr_t>(data() + size_),
                static_cast<uint32_t>(capacity_ - size_), ZDR_ENCODE);
  good_ = encode(&zdr, value) != 0;
  size_ += zdr_getpos(&zdr);
  zdr_destroy(&zdr);
}

void XdrBuffer::SetLastWord(uint32_t value) {
  const uint32_t wire = htonl(value);
  std::memcpy(data() + size_ - sizeof wire, &wire, sizeof wire);
}

}  // namespace nfswalk::rpc
