#include "access_cache/access_rights.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace nfswalk::access_cache {
namespace {

constexpr bool kDirectory = true;
constexpr bool kFile = false;

TEST(AccessRightsTest, NothingAskedIsGranted) {
  EXPECT_TRUE(Grants(0, 0, kDirectory));
  EXPECT_TRUE(Grants(0, 0, kFile));
}

TEST(AccessRightsTest, ADirectoryIsSearchedByLookupAlone) {
  EXPECT_TRUE(Grants(kServerLookup, kMayExec, kDirectory));
  EXPECT_FALSE(Grants(0x3f & ~kServerLookup, kMayExec, kDirectory));
}

TEST(AccessRightsTest, AFileIsExecutedByExecuteAlone) {
  EXPECT_TRUE(Grants(kServerExecute, kMayExec, kFile));
  EXPECT_FALSE(Grants(0x3f & ~kServerExecute, kMayExec, kFile));
}

// ACCESS-3.
TEST(AccessRightsTest, ADirectoryIsWrittenByModifyAndExtendAndDelete) {
  constexpr uint32_t kAll = kServerModify | kServerExtend | kServerDelete;
  EXPECT_TRUE(Grants(kAll, kMayWrite, kDirectory));
  for (uint32_t bit : {kServerModify, kServerExtend, kServerDelete}) {
    EXPECT_FALSE(Grants(0x3f & ~bit, kMayWrite, kDirectory)) << bit;
  }
}

TEST(AccessRightsTest, AFileIsWrittenByModifyAndExtend) {
  EXPECT_TRUE(Grants(kServerModify | kServerExtend, kMayWrite, kFile));
  for (uint32_t bit : {kServerModify, kServerExtend}) {
    EXPECT_FALSE(Grants(0x3f & ~bit, kMayWrite, kFile)) << bit;
  }
}

TEST(AccessRightsTest, EveryBitOfAMaskMustBeGranted) {
  constexpr uint32_t kReadAndSearch = kServerRead | kServerLookup;
  EXPECT_TRUE(Grants(kReadAndSearch, kMayRead | kMayExec, kDirectory));
  EXPECT_FALSE(Grants(kReadAndSearch, kMayRead | kMayWrite, kDirectory));
  EXPECT_FALSE(Grants(kReadAndSearch, kMayRead | kMayExec, kFile));
}

}  // namespace
}  // namespace nfswalk::access_cache
