// data_range: where a file with holes has data, so that a copy neither reads nor writes the holes.
//
// Thread safety: as `seek`.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_DATA_RANGE_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_DATA_RANGE_H_

#include <cstdint>

#include "nfsclient/client.h"

namespace nfswalk::cli {

struct DataRange {
  static constexpr uint64_t kOpenEnd = UINT64_MAX;  // to the end of the file, wherever that is
  uint64_t begin;
  uint64_t end;
};

// Returns the first data from an offset on, as far as the next hole; behind the last data the end
// that the file had, if it is as long still: one that was cut since is read to its end. A file that
// takes no less space than its size has no holes, and one whose holes cannot be asked for is all
// data. `seek(offset_bytes, content)`: as File::Seek().
template <class Seek>
DataRange NextData(const Attributes& attributes, uint64_t offset_bytes, Seek seek) {
  const uint64_t size = attributes.size_bytes;
  if (attributes.used_bytes >= size || offset_bytes >= size) {
    return {offset_bytes, DataRange::kOpenEnd};
  }
  const Result<uint64_t> data = seek(offset_bytes, Content::kData);
  if (!data && data.error() == std::errc::no_such_device_or_address) {
    const bool is_as_long = seek(size - 1, Content::kHole).has_value();
    return {is_as_long ? size : offset_bytes, DataRange::kOpenEnd};
  }
  if (!data) return {offset_bytes, DataRange::kOpenEnd};
  const Result<uint64_t> hole = seek(*data, Content::kHole);
  return {*data, hole && *hole > *data ? *hole : DataRange::kOpenEnd};
}

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_DATA_RANGE_H_
