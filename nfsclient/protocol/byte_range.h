// byte_range: the byte-range locks of fcntl(2).
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_BYTE_RANGE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_BYTE_RANGE_H_

#include <cstdint>

namespace nfswalk::protocol {

// A range of bytes, to which both ends belong. Preconditions: first <= last <= kEnd.
struct ByteRange {
  static constexpr uint64_t kEnd = INT64_MAX;  // as `last`: to the end of the file, wherever it is

  uint64_t first = 0;
  uint64_t last = kEnd;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// F_RDLCK, F_WRLCK.
enum class LockType : uint8_t { kRead = 1, kWrite = 2 };

struct RangeLock {
  LockType type = LockType::kRead;
  ByteRange range;
  friend bool operator==(const RangeLock&, const RangeLock&) = default;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_BYTE_RANGE_H_
