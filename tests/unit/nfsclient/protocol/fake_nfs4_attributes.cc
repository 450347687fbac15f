#include "tests/unit/nfsclient/protocol/fake_nfs4_attributes.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "tests/unit/nfsclient/protocol/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

constexpr uint32_t kAttributes = 64;
constexpr uint64_t kTransferBytes = 64 * 1024;

bool Has(const std::vector<uint32_t>& bitmap, uint32_t attribute) {
  const size_t word = attribute / 32;
  return word < bitmap.size() && (bitmap[word] >> attribute % 32 & 1) != 0;
}

// Returns none if the server does not support the attribute.
std::optional<Xdr> Value(uint32_t attribute, const FakeNode& node, uint32_t lease_seconds) {
  switch (attribute) {
    case FATTR4_TYPE:
      return Xdr().U32(node.type);
    case FATTR4_CHANGE:
      return Xdr().U64(node.change);
    case FATTR4_SIZE:
    case FATTR4_SPACE_USED:
      return Xdr().U64(node.data.size());
    case FATTR4_FSID:
      return Xdr().U64(1, 0);
    case FATTR4_LEASE_TIME:
      return Xdr().U32(lease_seconds);
    case FATTR4_RDATTR_ERROR:
    case FATTR4_CASE_INSENSITIVE:
      return Xdr().U32(0);
    case FATTR4_FILEHANDLE:
      return Xdr().Bytes(node.handle());
    case FATTR4_FILEID:
    case FATTR4_MOUNTED_ON_FILEID:
      return Xdr().U64(node.fileid);
    case FATTR4_MAXNAME:
      return Xdr().U32(255);
    case FATTR4_MAXREAD:
    case FATTR4_MAXWRITE:
      return Xdr().U64(kTransferBytes);
    case FATTR4_MODE:
      return Xdr().U32(node.mode);
    case FATTR4_NUMLINKS:
      return Xdr().U32(node.nlink);
    case FATTR4_OWNER:
      return Xdr().Bytes(std::to_string(node.uid));
    case FATTR4_OWNER_GROUP:
      return Xdr().Bytes(std::to_string(node.gid));
    case FATTR4_RAWDEV:
      return Xdr().U32(0, 0);
    case FATTR4_TIME_ACCESS:
    case FATTR4_TIME_METADATA:
    case FATTR4_TIME_MODIFY:
      return Xdr().U64(node.change).U32(0);
    default:
      return std::nullopt;
  }
}

}  // namespace

void PutAttributes(Xdr& out, const FakeNode& node, const std::vector<uint32_t>& asked,
                   uint32_t lease_seconds, bool malformed) {
  uint32_t words[2] = {0, 0};
  std::string values;
  for (uint32_t attribute = 0; attribute < kAttributes; ++attribute) {
    if (!Has(asked, attribute)) continue;
    const std::optional<Xdr> value = Value(attribute, node, lease_seconds);
    if (!value) continue;
    words[attribute / 32] |= 1u << attribute % 32;
    values += value->str();
  }
  if (malformed && !values.empty()) values.resize(values.size() - 4);
  out.U32(2, words[0], words[1]).Bytes(values);
}

std::vector<uint32_t> TakeBitmap(XdrReader& in) {
  std::vector<uint32_t> bitmap(std::min<uint32_t>(in.U32(), 8));
  for (uint32_t& word : bitmap) word = in.U32();
  return bitmap;
}

bool SetAttributesFrom(XdrReader& in, FakeNode& node) {
  const std::vector<uint32_t> bitmap = TakeBitmap(in);
  const std::string bytes = in.Bytes();
  XdrReader values(bytes);
  for (uint32_t attribute = 0; attribute < kAttributes; ++attribute) {
    if (!Has(bitmap, attribute)) continue;
    switch (attribute) {
      case FATTR4_SIZE:
        node.data.resize(values.U64());
        break;
      case FATTR4_MODE:
        node.mode = values.U32();
        break;
      case FATTR4_OWNER:
        node.uid = static_cast<uint32_t>(std::strtoul(values.Bytes().c_str(), nullptr, 10));
        break;
      case FATTR4_OWNER_GROUP:
        node.gid = static_cast<uint32_t>(std::strtoul(values.Bytes().c_str(), nullptr, 10));
        break;
      case FATTR4_TIME_ACCESS_SET:
      case FATTR4_TIME_MODIFY_SET:
        if (values.U32() == SET_TO_CLIENT_TIME4) values.Raw(12);
        break;
      default:
        return false;
    }
  }
  ++node.change;
  return true;
}

}  // namespace nfswalk::protocol
