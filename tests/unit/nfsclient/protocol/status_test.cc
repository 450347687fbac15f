#include <gtest/gtest.h>

#include <cerrno>

#include "nfsclient/protocol/internal_errors.h"
#include "nfsclient/protocol/nfs3_status.h"
#include "nfsclient/protocol/nfs4_status.h"

namespace nfswalk::protocol {
namespace {

struct Row {
  int status;
  int error;
};

// Of one number and one meaning in both versions.
constexpr Row kCommon[] = {{0, 0},
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
                           {-1, EIO},
                           {3, EIO},
                           {63, ENAMETOOLONG},
                           {66, ENOTEMPTY},
                           {69, EDQUOT},
                           {70, ESTALE},
                           {72, EIO},
                           {10000, EIO},
                           {10001, ESTALE},
                           {10004, EOPNOTSUPP},
                           {10006, EREMOTEIO},
                           {1 << 30, EIO}};

// WIRE-12.
TEST(Nfs3Status, IsTheErrnoOfItsNameOrEIO) {
  for (const Row& row : kCommon) {
    EXPECT_EQ(ErrnoOfStatus(row.status), std::errc{row.error}) << row.status;
  }
  for (const Row& row : {Row{19, ENODEV}, {71, EREMOTE}, {10009, EIO}}) {
    EXPECT_EQ(ErrnoOfStatus(row.status), std::errc{row.error}) << row.status;
  }
}

TEST(Nfs4Status, IsTheErrnoOfItsNameOrEIO) {
  for (const Row& row : kCommon) {
    EXPECT_EQ(ErrnoOfStatus4(row.status), std::errc{row.error}) << row.status;
  }
  constexpr int kJukeboxError = static_cast<int>(kJukebox);
  for (const Row& row : {Row{10003, EINVAL},  // BAD_COOKIE
                         {10005, static_cast<int>(kTooSmall)},
                         {10008, kJukeboxError},  // DELAY
                         {10013, kJukeboxError},  // GRACE
                         {10014, ESTALE},         // FHEXPIRED
                         {10015, EACCES},         // SHARE_DENIED
                         {10027, EINVAL},         // NOT_SAME
                         {10029, ELOOP},          // SYMLINK
                         {10046, EBUSY}}) {       // FILE_OPEN
    EXPECT_EQ(ErrnoOfStatus4(row.status), std::errc{row.error}) << row.status;
  }
}

TEST(Nfs4Status, LostStateErrorsOfTheClientAndUnknownStatusAreEIO) {
  for (const int status :
       {10009, 10011, 10017, 10020, 10022, 10023, 10024, 10025, 10026, 10030, 10031, 10033,
        10034, 10035, 10036, 10037, 10038, 10047, 10048, 19,    71,    10002, 10049, 10070}) {
    EXPECT_EQ(ErrnoOfStatus4(status), std::errc::io_error) << status;
  }
}

TEST(Nfs4Status, OnlyZeroIsSuccess) {
  for (int status = 1; status < 20000; ++status) {
    EXPECT_NE(ErrnoOfStatus4(status), std::errc{}) << status;
    EXPECT_NE(ErrnoOfStatus4(-status), std::errc{}) << -status;
  }
}

}  // namespace
}  // namespace nfswalk::protocol
