#include "nfsclient/mount/request_counts.h"

#include <linux/fuse.h>

#include <string>
#include <utility>

namespace nfswalk::mount {
namespace {

constexpr std::pair<size_t, const char*> kNames[] = {
    {FUSE_LOOKUP, "LOOKUP"},
    {FUSE_FORGET, "FORGET"},
    {FUSE_GETATTR, "GETATTR"},
    {FUSE_SETATTR, "SETATTR"},
    {FUSE_READLINK, "READLINK"},
    {FUSE_SYMLINK, "SYMLINK"},
    {FUSE_MKNOD, "MKNOD"},
    {FUSE_MKDIR, "MKDIR"},
    {FUSE_UNLINK, "UNLINK"},
    {FUSE_RMDIR, "RMDIR"},
    {FUSE_RENAME, "RENAME"},
    {FUSE_LINK, "LINK"},
    {FUSE_OPEN, "OPEN"},
    {FUSE_READ, "READ"},
    {FUSE_WRITE, "WRITE"},
    {FUSE_STATFS, "STATFS"},
    {FUSE_RELEASE, "RELEASE"},
    {FUSE_FSYNC, "FSYNC"},
    {FUSE_SETXATTR, "SETXATTR"},
    {FUSE_GETXATTR, "GETXATTR"},
    {FUSE_LISTXATTR, "LISTXATTR"},
    {FUSE_REMOVEXATTR, "REMOVEXATTR"},
    {FUSE_FLUSH, "FLUSH"},
    {FUSE_OPENDIR, "OPENDIR"},
    {FUSE_READDIR, "READDIR"},
    {FUSE_RELEASEDIR, "RELEASEDIR"},
    {FUSE_FSYNCDIR, "FSYNCDIR"},
    {FUSE_GETLK, "GETLK"},
    {FUSE_SETLK, "SETLK"},
    {FUSE_SETLKW, "SETLKW"},
    {FUSE_ACCESS, "ACCESS"},
    {FUSE_CREATE, "CREATE"},
    {FUSE_INTERRUPT, "INTERRUPT"},
    {FUSE_IOCTL, "IOCTL"},
    {FUSE_BATCH_FORGET, "BATCH_FORGET"},
    {FUSE_FALLOCATE, "FALLOCATE"},
    {FUSE_READDIRPLUS, "READDIRPLUS"},
    {FUSE_RENAME2, "RENAME2"},
    {FUSE_LSEEK, "LSEEK"},
    {FUSE_COPY_FILE_RANGE, "COPY_FILE_RANGE"},
};

}  // namespace

void RequestCounts::Count(const void* request) {
  const size_t opcode = static_cast<const fuse_in_header*>(request)->opcode;
  ++counts_[opcode < counts_.size() ? opcode : 0];
}

std::vector<Sample> RequestCounts::Samples() const {
  std::vector<Sample> samples;
  for (const auto& [opcode, name] : kNames) {
    samples.push_back({"fuse_requests_total", name, counts_[opcode].load()});
  }
  return samples;
}

}  // namespace nfswalk::mount
