#include "nfsclient/nfs3/status.h"

#include <cerrno>

#include "nfsclient/rpc/internal_errors.h"

namespace nfswalk::protocol {
namespace {

struct Row {
  int status;
  int error_number;
};

// RFC 1813 2.6, in its order. Numbers below 10000 are BSD's errno values; some differ on Linux.
constexpr Row kRows[] = {
    {0, 0},
    {1, EPERM},
    {2, ENOENT},
    {5, EIO},
    {6, ENXIO},
    {13, EACCES},
    {17, EEXIST},
    {18, EXDEV},
    {19, ENODEV},
    {20, ENOTDIR},
    {21, EISDIR},
    {22, EINVAL},
    {27, EFBIG},
    {28, ENOSPC},
    {30, EROFS},
    {31, EMLINK},
    {63, ENAMETOOLONG},
    {66, ENOTEMPTY},
    {69, EDQUOT},
    {70, ESTALE},
    {71, EREMOTE},
    {10001, ESTALE},      // BADHANDLE: all handles sent are from the server
    {10002, EIO},         // NOT_SYNC: SETATTR is sent without a guard
    {10003, EINVAL},      // BAD_COOKIE
    {10004, EOPNOTSUPP},  // NOTSUPP
    {10005, static_cast<int>(kTooSmall)},
    {10006, EREMOTEIO},  // SERVERFAULT
    {10007, EINVAL},     // BADTYPE
    {10008, static_cast<int>(kJukebox)},
};

}  // namespace

std::errc ErrnoOfStatus(int nfsstat3) {
  for (const Row& row : kRows) {
    if (row.status == nfsstat3) return std::errc{row.error_number};
  }
  return std::errc::io_error;
}

}  // namespace nfswalk::protocol
