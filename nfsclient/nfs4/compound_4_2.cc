// The operations of version 4.2 (RFC 7862, RFC 8276).
#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {

Compound& Compound::Allocate(const StateId& state, const Allocation& allocation) {
  Add(allocation.is_hole ? kOpDeallocate : kOpAllocate);
  AddState(state);
  writer_.U64(allocation.offset_bytes).U64(allocation.size_bytes);
  return *this;
}

Compound& Compound::Seek(const StateId& state, uint64_t offset_bytes, Content content) {
  Add(kOpSeek);
  AddState(state);
  writer_.U64(offset_bytes).U32(static_cast<uint32_t>(content));
  return *this;
}

Compound& Compound::Copy(const StateId& source, const StateId& target, const CopiedRange& range) {
  Add(kOpCopy);
  AddState(source);
  AddState(target);
  writer_.U64(range.source_offset_bytes).U64(range.offset_bytes).U64(range.size_bytes);
  writer_.Bool(true).Bool(true).U32(0);  // consecutive, synchronous, no other server
  return *this;
}

Compound& Compound::GetXattr(std::string_view name) {
  Add(kOpGetXattr).Bytes(name);
  results_bytes_max_ += kXattrValueBytesMax;
  return *this;
}

Compound& Compound::SetXattr(std::string_view name, std::string_view value, XattrMode how) {
  Add(kOpSetXattr).U32(static_cast<uint32_t>(how)).Bytes(name).Bytes(value);
  return *this;
}

Compound& Compound::RemoveXattr(std::string_view name) {
  Add(kOpRemoveXattr).Bytes(name);
  return *this;
}

Compound& Compound::ListXattrs(uint64_t cookie, uint32_t max_bytes) {
  Add(kOpListXattrs).U64(cookie).U32(max_bytes);
  results_bytes_max_ += max_bytes;
  return *this;
}

}  // namespace nfswalk::protocol
