#include "nfsclient/protocol/nfs3_status.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace nfswalk::protocol {
namespace {

TEST(Nfs3Status, SuccessIsNoError) { EXPECT_EQ(ErrnoOfStatus(0), std::errc{}); }

TEST(Nfs3Status, NumbersThatDifferFromLinuxAreTranslated) {
  EXPECT_EQ(ErrnoOfStatus(63), std::errc::filename_too_long);
  EXPECT_EQ(ErrnoOfStatus(66), std::errc::directory_not_empty);
  EXPECT_EQ(ErrnoOfStatus(69), std::errc{EDQUOT});
  EXPECT_EQ(ErrnoOfStatus(70), std::errc{ESTALE});
}

TEST(Nfs3Status, ABadHandleReadsAsStale) { EXPECT_EQ(ErrnoOfStatus(10001), std::errc{ESTALE}); }

TEST(Nfs3Status, AnUnknownStatusIsEIO) {
  for (const int status : {-1, 3, 72, 10000, 10009, 1 << 30}) {
    EXPECT_EQ(ErrnoOfStatus(status), std::errc::io_error) << status;
  }
}

// WIRE-12.
TEST(Nfs3Status, EveryOtherStatusOfTheRfcIsTheErrnoOfItsName) {
  const struct {
    int status;
    int error;
  } rows[] = {{1, EPERM},    {2, ENOENT},         {5, EIO},          {6, ENXIO},    {13, EACCES},
              {17, EEXIST},  {18, EXDEV},         {19, ENODEV},      {20, ENOTDIR}, {21, EISDIR},
              {22, EINVAL},  {27, EFBIG},         {28, ENOSPC},      {30, EROFS},   {31, EMLINK},
              {71, EREMOTE}, {10004, EOPNOTSUPP}, {10006, EREMOTEIO}};
  for (const auto& row : rows) EXPECT_EQ(ErrnoOfStatus(row.status), std::errc{row.error});
}

}  // namespace
}  // namespace nfswalk::protocol
