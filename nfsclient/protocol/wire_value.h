// wire_value: reads an enumeration that libnfs decoded.
//
// libnfs stores any number that the server sent in its enumerations, whose values are then invalid
// in C++: read them as integers.
//
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
