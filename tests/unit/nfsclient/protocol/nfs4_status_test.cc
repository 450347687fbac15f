#include "nfsclient/protocol/nfs4_status.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "nfsclient/protocol/internal_errors.h"

namespace nfswalk::protocol {
namespace {

TEST(Nfs4Status, SuccessIsNoError) { EXPECT_EQ(ErrnoOfStatus4(0), std::errc{}); }

TEST(Nfs4Status, NothingElseIsSuccess) {
  for (int status = 1; status < 20000; ++status) {
    EXPECT_NE(ErrnoOfStatus4(status), std::errc{}) << status;
    EXPECT_NE(ErrnoOfStatus4(-status), std::errc{}) << -status;
  }
}

TEST(Nfs4Status, CommonStatusIsTheErrnoOfItsName) {
  const struct {
    int status;
    int error;
  } rows[] = {{1, EPERM},         {2, ENOENT},    {5, EIO},           {6, ENXIO},
              {13, EACCES},       {17, EEXIST},   {18, EXDEV},        {20, ENOTDIR},
              {21, EISDIR},       {22, EINVAL},   {27, EFBIG},        {28, ENOSPC},
              {30, EROFS},        {31, EMLINK},   {63, ENAMETOOLONG}, {66, ENOTEMPTY},
              {69, EDQUOT},       {70, ESTALE},   {10001, ESTALE},    {10004, EOPNOTSUPP},
              {10006, EREMOTEIO}, {10014, ESTALE}};
  for (const auto& row : rows) {
    EXPECT_EQ(ErrnoOfStatus4(row.status), std::errc{row.error}) << row.status;
  }
}

TEST(Nfs4Status, DelayAndGraceAreJukebox) {
  EXPECT_EQ(ErrnoOfStatus4(10008), kJukebox);
  EXPECT_EQ(ErrnoOfStatus4(10013), kJukebox);
}

TEST(Nfs4Status, TooSmallIsAnInternalError) { EXPECT_EQ(ErrnoOfStatus4(10005), kTooSmall); }

TEST(Nfs4Status, SymlinkIsELOOP) {
  EXPECT_EQ(ErrnoOfStatus4(10029), std::errc::too_many_symbolic_link_levels);
}

TEST(Nfs4Status, BadCookieAndNotSameAreEINVAL) {
  EXPECT_EQ(ErrnoOfStatus4(10003), std::errc::invalid_argument) << "BAD_COOKIE";
  EXPECT_EQ(ErrnoOfStatus4(10027), std::errc::invalid_argument) << "NOT_SAME";
}

TEST(Nfs4Status, ShareDeniedIsEACCESAndFileOpenIsEBUSY) {
  EXPECT_EQ(ErrnoOfStatus4(10015), std::errc::permission_denied) << "SHARE_DENIED";
  EXPECT_EQ(ErrnoOfStatus4(10046), std::errc::device_or_resource_busy) << "FILE_OPEN";
}

TEST(Nfs4Status, LostStateAndErrorsOfTheClientAreEIO) {
  for (const int status : {10009, 10011, 10017, 10020, 10022, 10023, 10024, 10025, 10026, 10030,
                           10031, 10033, 10034, 10035, 10036, 10037, 10038, 10047, 10048}) {
    EXPECT_EQ(ErrnoOfStatus4(status), std::errc::io_error) << status;
  }
}

TEST(Nfs4Status, AnUnknownStatusIsEIO) {
  for (const int status : {-1, 3, 19, 71, 72, 10000, 10002, 10049, 10070, 1 << 30}) {
    EXPECT_EQ(ErrnoOfStatus4(status), std::errc::io_error) << status;
  }
}

}  // namespace
}  // namespace nfswalk::protocol
