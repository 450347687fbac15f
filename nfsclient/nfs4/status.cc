#include "nfsclient/nfs4/status.h"

#include <cerrno>

#include "nfsclient/rpc/internal_errors.h"
#include "nfsclient/rpc/session_slots.h"

namespace nfswalk::protocol {
namespace {

struct Row {
  int status;
  int error_number;
};

// RFC 7530 13.1, by number. All others are EIO: lost state (EXPIRED, STALE_CLIENTID, BAD_STATEID,
// RECLAIM_*, ADMIN_REVOKED, ...), which state/state_error.h classifies, and replies to operations
// or arguments that this client does not send (SAME, BAD_SEQID, BADXDR, ...).
constexpr Row kRows[] = {
    {0, 0},
    {1, EPERM},
    {2, ENOENT},
    {5, EIO},
    {6, ENXIO},
    {13, EACCES},
    {17, EEXIST},
    {18, EXDEV},
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
    {10001, ESTALE},      // BADHANDLE: all handles sent are from the server
    {10003, EINVAL},      // BAD_COOKIE
    {10004, EOPNOTSUPP},  // NOTSUPP
    {10005, static_cast<int>(kTooSmall)},
    {10006, EREMOTEIO},  // SERVERFAULT
    {10007, EINVAL},     // BADTYPE
    {10008, static_cast<int>(kJukebox)},
    {10010, EAGAIN},  // DENIED: another owner's lock
    {10012, EAGAIN},  // LOCKED: a mandatory lock
    {10013, static_cast<int>(kJukebox)},
    {10014, ESTALE},           // FHEXPIRED
    {10015, EACCES},           // SHARE_DENIED
    {10016, EPERM},            // WRONGSEC
    {10018, EREMOTEIO},        // RESOURCE
    {10019, EREMOTE},          // MOVED
    {10021, EPROTONOSUPPORT},  // MINOR_VERS_MISMATCH
    {10027, EINVAL},           // NOT_SAME: READDIR's cookie verifier (16.24)
    {10028, EOPNOTSUPP},       // LOCK_RANGE: no part of a lock
    {10029, ELOOP},            // SYMLINK
    {10032, EOPNOTSUPP},       // ATTRNOTSUPP
    {10039, EINVAL},           // BADOWNER
    {10040, EINVAL},           // BADCHAR
    {10041, EINVAL},           // BADNAME
    {10042, EINVAL},           // BAD_RANGE
    {10043, EOPNOTSUPP},       // LOCK_NOTSUPP: no upgrade or downgrade
    {10044, EOPNOTSUPP},       // OP_ILLEGAL
    {10045, EDEADLK},          // DEADLOCK
    {10046, EBUSY},            // FILE_OPEN
    // RFC 8881 15.1.
    {10065, EREMOTEIO},  // REQ_TOO_BIG
    {10066, EREMOTEIO},  // REP_TOO_BIG
    {10067, EREMOTEIO},  // REP_TOO_BIG_TO_CACHE
    {10070, EREMOTEIO},  // TOO_MANY_OPS
    {10074, EBUSY},      // CLIENTID_BUSY
    {10083, EINVAL},     // WRONG_TYPE
    // RFC 8276 8.3.
    {10095, ENODATA},  // NOXATTR
    {10096, E2BIG},    // XATTR2BIG
};

}  // namespace

bool IsTooLarge(int nfsstat4) {
  switch (nfsstat4) {
    case 10018:
    case 10065:
    case 10066:
    case 10067:
    case 10070:
      return true;
    default:
      return false;
  }
}

std::errc ErrnoOfStatus4(int nfsstat4) {
  if (rpc::IsSequenceError(static_cast<uint32_t>(nfsstat4))) return kJukebox;
  for (const Row& row : kRows) {
    if (row.status == nfsstat4) return std::errc{row.error_number};
  }
  return std::errc::io_error;
}

}  // namespace nfswalk::protocol
