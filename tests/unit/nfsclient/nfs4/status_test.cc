#include "nfsclient/nfs3/status.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "nfsclient/nfs4/status.h"
#include "nfsclient/rpc/internal_errors.h"

namespace nfswalk::protocol {
namespace {

struct Row {
  int status;
  int error;
};

// Statuses of one number and one meaning in both versions.
constexpr Row kCommon[] = {{1, EPERM},        {2, ENOENT},  {5, EIO},           {6, ENXIO},
                           {13, EACCES},      {17, EEXIST}, {18, EXDEV},        {20, ENOTDIR},
                           {21, EISDIR},      {22, EINVAL}, {27, EFBIG},        {28, ENOSPC},
                           {30, EROFS},       {31, EMLINK}, {63, ENAMETOOLONG}, {66, ENOTEMPTY},
                           {69, EDQUOT},      {70, ESTALE}, {10001, ESTALE},    {10004, EOPNOTSUPP},
                           {10006, EREMOTEIO}};
constexpr int kUnknown[] = {-1, 3, 72, 10000, 1 << 30};

// WIRE-12.
TEST(Nfs3Status, IsTheErrnoOfItsNameOrEIO) {
  for (const Row& row : kCommon) {
    EXPECT_EQ(ErrnoOfStatus(row.status), std::errc{row.error}) << row.status;
  }
  for (const int status : kUnknown) {
    EXPECT_EQ(ErrnoOfStatus(status), std::errc::io_error) << status;
  }
  EXPECT_EQ(ErrnoOfStatus(0), std::errc{});
  EXPECT_EQ(ErrnoOfStatus(19), std::errc{ENODEV});
  EXPECT_EQ(ErrnoOfStatus(71), std::errc{EREMOTE});
  EXPECT_EQ(ErrnoOfStatus(10009), std::errc::io_error);
}

TEST(Nfs4Status, IsTheErrnoOfItsName) {
  for (const Row& row : kCommon) {
    EXPECT_EQ(ErrnoOfStatus4(row.status), std::errc{row.error}) << row.status;
  }
  EXPECT_EQ(ErrnoOfStatus4(10003), std::errc{EINVAL}) << "BAD_COOKIE";
  EXPECT_EQ(ErrnoOfStatus4(10005), kTooSmall);
  EXPECT_EQ(ErrnoOfStatus4(10008), kJukebox) << "DELAY";
  EXPECT_EQ(ErrnoOfStatus4(10013), kJukebox) << "GRACE";
  EXPECT_EQ(ErrnoOfStatus4(10014), std::errc{ESTALE}) << "FHEXPIRED";
  EXPECT_EQ(ErrnoOfStatus4(10015), std::errc{EACCES}) << "SHARE_DENIED";
  EXPECT_EQ(ErrnoOfStatus4(10027), std::errc{EINVAL}) << "NOT_SAME";
  EXPECT_EQ(ErrnoOfStatus4(10029), std::errc{ELOOP}) << "SYMLINK";
  EXPECT_EQ(ErrnoOfStatus4(10046), std::errc{EBUSY}) << "FILE_OPEN";
}

TEST(Nfs4Status, ErrorsOfSequenceAskForARepetitionAndLimitsOfTheSessionForLess) {
  for (const int status : {10052, 10053, 10055, 10063, 10068, 10076, 10077, 10078}) {
    EXPECT_EQ(ErrnoOfStatus4(status), kJukebox) << status;
  }
  for (const int status : {10065, 10066, 10067, 10070}) {
    EXPECT_EQ(ErrnoOfStatus4(status), std::errc{EREMOTEIO}) << status;
  }
  EXPECT_EQ(ErrnoOfStatus4(10074), std::errc{EBUSY}) << "CLIENTID_BUSY";
  EXPECT_EQ(ErrnoOfStatus4(10083), std::errc{EINVAL}) << "WRONG_TYPE";
}

TEST(Nfs4Status, LostStateErrorsOfTheClientAndUnknownStatusAreEIO) {
  for (const int status :
       {10009, 10011, 10017, 10020, 10022, 10023, 10024, 10025, 10026, 10030, 10031, 10033,
        10034, 10035, 10036, 10037, 10038, 10047, 10048, 19,    71,    10002, 10049, 10079}) {
    EXPECT_EQ(ErrnoOfStatus4(status), std::errc::io_error) << status;
  }
  for (const int status : kUnknown) {
    EXPECT_EQ(ErrnoOfStatus4(status), std::errc::io_error) << status;
  }
}

TEST(Nfs4Status, OnlyZeroIsSuccess) {
  EXPECT_EQ(ErrnoOfStatus4(0), std::errc{});
  for (int status = 1; status < 20000; ++status) {
    EXPECT_NE(ErrnoOfStatus4(status), std::errc{}) << status;
    EXPECT_NE(ErrnoOfStatus4(-status), std::errc{}) << -status;
  }
}

}  // namespace
}  // namespace nfswalk::protocol
