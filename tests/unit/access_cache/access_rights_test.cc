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

// ACCESS-3.
TEST(AccessRightsTest, ARightNeedsAllOfItsServerBitsAndNoOther) {
  const struct {
    uint32_t wanted;
    bool directory;
    uint32_t needed;
  } rows[] = {{kMayExec, kDirectory, kServerLookup},
              {kMayExec, kFile, kServerExecute},
              {kMayWrite, kDirectory, kServerModify | kServerExtend | kServerDelete},
              {kMayWrite, kFile, kServerModify | kServerExtend}};
  for (const auto& [wanted, directory, needed] : rows) {
    EXPECT_TRUE(Grants(needed, wanted, directory)) << needed;
    for (uint32_t bit = 1; bit < 0x40; bit <<= 1) {
      EXPECT_EQ(Grants(0x3f & ~bit, wanted, directory), (needed & bit) == 0)
          << needed << " " << bit;
    }
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
