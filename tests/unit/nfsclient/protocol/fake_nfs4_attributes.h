// fake_nfs4_attributes: encodes and decodes the attributes of a FakeNode as a fattr4.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS4_ATTRIBUTES_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS4_ATTRIBUTES_H_

#include <cstdint>
#include <vector>

#include "tests/unit/nfsclient/protocol/fake_server.h"
#include "tests/unit/nfsclient/protocol/fake_tree.h"

namespace nfswalk::protocol {

// Writes a fattr4 with the attributes of the bitmap4 `asked` that are supported. `malformed`:
// truncates the values.
void PutAttributes(Xdr& out, const FakeNode& node, const std::vector<uint32_t>& asked,
                   uint32_t lease_seconds, bool malformed);
std::vector<uint32_t> TakeBitmap(XdrReader& in);
// Applies a fattr4 of size, mode, owner (numeric) and times, which are ignored. False if it has
// others.
bool SetAttributesFrom(XdrReader& in, FakeNode& node);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS4_ATTRIBUTES_H_
