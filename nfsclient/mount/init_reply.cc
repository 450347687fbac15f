#include "nfsclient/mount/init_reply.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nfswalk::mount {
namespace {

constexpr uint32_t kLeftOut = FUSE_PARALLEL_DIROPS | FUSE_HANDLE_KILLPRIV;

// The request whose reply is completed; written before the threads that reply are begun.
uint64_t init_unique = 0;
uint32_t offered = 0;

ssize_t Read(int fd, void* buffer, size_t size, void*) {
  const ssize_t count = read(fd, buffer, size);
  const auto* const header = static_cast<const fuse_in_header*>(buffer);
  if (count >= static_cast<ssize_t>(sizeof(fuse_in_header) + sizeof(fuse_init_in)) &&
      header->opcode == FUSE_INIT) {
    init_unique = header->unique;
    offered = reinterpret_cast<const fuse_init_in*>(header + 1)->flags;
  }
  return count;
}

ssize_t Write(int fd, iovec* parts, int count, void*) {
  const auto* const header = static_cast<const fuse_out_header*>(parts[0].iov_base);
  fuse_init_out reply{};
  if (init_unique == 0 || header->unique != init_unique || header->error != 0 || count != 2 ||
      parts[1].iov_len < offsetof(fuse_init_out, flags) + sizeof(reply.flags) ||
      parts[1].iov_len > sizeof(reply)) {
    return writev(fd, parts, count);
  }
  std::memcpy(&reply, parts[1].iov_base, parts[1].iov_len);
  reply.flags |= offered & kLeftOut;
  reply.max_readahead = UINT32_MAX;  // the kernel takes what the mount has, if that is less
  const iovec completed[] = {parts[0], {&reply, parts[1].iov_len}};
  return writev(fd, completed, 2);
}

}  // namespace

void CompleteInitReply(fuse_session* session) {
  static const fuse_custom_io io = [] {  // libfuse 3.17 has more members than 3.14
    fuse_custom_io calls{};
    calls.writev = Write;
    calls.read = Read;
    return calls;
  }();
  fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

}  // namespace nfswalk::mount
