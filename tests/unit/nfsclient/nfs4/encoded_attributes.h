// encoded_attributes: fattr4 as XDR, and how tests read XDR.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_NFS4_ENCODED_ATTRIBUTES_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_NFS4_ENCODED_ATTRIBUTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/owner_names.h"
#include "nfsclient/rpc/xdr_reader.h"
#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {

inline const OwnerNames kOwners("example.org");

// Encoded attribute values by number.
using Values = std::map<int, std::string>;

inline std::string U32(uint32_t value) { return Xdr().U32(value).str(); }
inline std::string U64(uint64_t value) { return Xdr().U64(value).str(); }
inline std::string Text(std::string_view text) { return Xdr().Bytes(text).str(); }
inline std::string TimeOf(uint64_t seconds, uint32_t nanoseconds) {
  return Xdr().U64(seconds).U32(nanoseconds).str();
}

inline Values GoodValues() {
  return {{FATTR4_TYPE, U32(NF4DIR)},
          {FATTR4_CHANGE, U64(0x1122334455667788)},
          {FATTR4_SIZE, U64(1ull << 33)},
          {FATTR4_FSID, U64(3) + U64(4)},
          {FATTR4_FILEID, U64(99)},
          {FATTR4_MODE, U32(0102755)},
          {FATTR4_NUMLINKS, U32(2)},
          {FATTR4_OWNER, Text("1000")},
          {FATTR4_OWNER_GROUP, Text("root@EXAMPLE.org")},
          {FATTR4_RAWDEV, U32(8) + U32(1)},
          {FATTR4_SPACE_USED, U64(4096)},
          {FATTR4_TIME_ACCESS, TimeOf(~0ull, 1)},
          {FATTR4_TIME_METADATA, TimeOf(5, 6)},
          {FATTR4_TIME_MODIFY, TimeOf(7, 999'999'999)}};
}

// An encoded fattr4.
inline std::string Encoded(const std::vector<uint32_t>& mask, const std::string& values) {
  Xdr xdr = Xdr().U32(mask.size());
  for (const uint32_t word : mask) xdr.U32(word);
  return xdr.Bytes(values).str();
}
inline std::pair<std::vector<uint32_t>, std::string> MaskAndBytes(const Values& values) {
  std::vector<uint32_t> mask(2);
  std::string bytes;
  for (const auto& [number, value] : values) {
    mask.resize(std::max<size_t>(mask.size(), number / 32 + 1));
    mask[number / 32] |= 1u << number % 32;
    bytes += value;
  }
  return {mask, bytes};
}
inline std::string Encoded(const Values& values) {
  const auto [mask, bytes] = MaskAndBytes(values);
  return Encoded(mask, bytes);
}

// Runs read(reader) over `bytes` in an allocation of the exact size, in which a sanitizer detects
// reads beyond the end. Returns what it returns.
template <typename Read>
auto ReadFrom(std::string_view bytes, Read read) {
  const auto view = std::as_bytes(std::span(bytes));
  const std::vector<std::byte> exact(view.begin(), view.end());
  rpc::XdrReader reader(exact);
  return read(reader);
}

inline Values With(int number, std::string value) {
  Values values = GoodValues();
  values[number] = std::move(value);
  return values;
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_NFS4_ENCODED_ATTRIBUTES_H_
