#include "nfsclient/protocol/nfs3_encode.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nfswalk::protocol {
namespace {

TEST(WireName, OfTwoHundredAndFiftyFiveBytesFits) {
  const std::string longest(255, 'x');
  const WireName name(longest);
  EXPECT_EQ(name.error(), kOk);
  EXPECT_EQ(name.c_str(), longest);
}

TEST(WireName, OfOneByteMoreIsTooLong) {
  EXPECT_EQ(WireName(std::string(256, 'x')).error(), std::errc::filename_too_long);
}

TEST(WireName, RefusesSlashNulAndEmpty) {
  EXPECT_EQ(WireName("").error(), std::errc::invalid_argument);
  EXPECT_EQ(WireName("a/b").error(), std::errc::invalid_argument);
  EXPECT_EQ(WireName(std::string_view("a\0b", 3)).error(), std::errc::invalid_argument);
}

TEST(CheckHandle, RefusesEmptyAndOverlongHandles) {
  const std::vector<uint8_t> bytes(65, 1);
  EXPECT_EQ(CheckHandle(FileHandle()), kStale);
  EXPECT_EQ(CheckHandle(FileHandle(bytes)), kStale);
  EXPECT_EQ(CheckHandle(FileHandle(std::span(bytes).first(64))), kOk);
}

}  // namespace
}  // namespace nfswalk::protocol
