#include "nfsclient/nfs4/acl.h"

#include <span>

#include "nfsclient/rpc/xdr_reader.h"

namespace nfswalk::protocol {

std::optional<std::vector<Ace>> ReadAcl(std::string_view bytes) {
  rpc::XdrReader reader(std::as_bytes(std::span(bytes)));
  std::vector<Ace> acl;
  const uint32_t entries = reader.U32();
  for (uint32_t i = 0; i < entries && reader.good(); ++i) {
    Ace& ace = acl.emplace_back();
    ace.type = reader.U32();
    ace.flags = reader.U32();
    ace.mask = reader.U32();
    ace.who = reader.Bytes(bytes.size());
  }
  if (!reader.good() || reader.bytes_left() != 0) return std::nullopt;
  return acl;
}

}  // namespace nfswalk::protocol
