// wire_value: enumerations that libnfs read off the wire.
//
// libnfs stores whatever the server sent into its enumerations; only as a number may that be looked
// at.
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_WIRE_VALUE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_WIRE_VALUE_H_

#include <cstdint>
#include <cstring>

namespace nfswalk::protocol {

template <typename Enumeration>
int32_t WireValue(const Enumeration& wire) {
  int32_t value;
  static_assert(sizeof value == sizeof wire);
  std::memcpy(&value, &wire, sizeof value);
  return value;
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_WIRE_VALUE_H_
