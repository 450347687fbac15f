#include "nfsclient/mount/file_size.h"

#include <cstddef>
#include <span>

namespace nfswalk::mount {
namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

void StoreEnd(FileSystem& file_system, NodeNumber number, File& file, uint64_t bytes) {
  if (bytes == 0) return;
  char page[kPageBytes];
  const uint64_t offset = (bytes - 1) / kPageBytes * kPageBytes;
  const std::span end(page, bytes - offset);
  const auto read = file.PRead(std::as_writable_bytes(end), offset);
  if (!read || *read != end.size()) return;
  fuse_bufvec buffer = FUSE_BUFVEC_INIT(end.size());
  buffer.buf[0].mem = page;
  fuse_lowlevel_notify_store(file_system.session, number, static_cast<off_t>(offset), &buffer,
                             fuse_buf_copy_flags{});
}

}  // namespace nfswalk::mount
