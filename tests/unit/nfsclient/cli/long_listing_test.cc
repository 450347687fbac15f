#include "nfsclient/cli/long_listing.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include <string>

namespace nfswalk::cli {
namespace {

using protocol::FileType;

constexpr LongStyle kNumeric{.numeric = true};

class LongListingTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC-1", 1);  // an hour ahead of UTC, POSIX spelling
    tzset();
  }
  static Attributes Sample() {
    Attributes attributes;
    attributes.mode = 0644;
    attributes.nlink = 2;
    attributes.uid = 1000;
    attributes.gid = 100;
    attributes.size_bytes = 5;
    attributes.used_bytes = 4097;
    attributes.mtime = {.seconds = 1'700'000'000, .nanoseconds = 5};
    return attributes;
  }
};

TEST_F(LongListingTest, ColumnsAreAligned) {
  Attributes large = Sample();
  large.type = FileType::kDirectory;
  large.nlink = 12;
  large.uid = 0;
  large.size_bytes = 123456;
  EXPECT_EQ(LongListing({{"a", Sample()}, {"b", large}}, kNumeric),
            "-rw-r--r--  2 1000 100      5 2023-11-14 23:13 a\n"
            "drw-r--r-- 12    0 100 123456 2023-11-14 23:13 b\n");
  EXPECT_EQ(LongListing({}, kNumeric), "");
}

TEST_F(LongListingTest, DevicesHaveNumbersInPlaceOfSizes) {
  Attributes device = Sample();
  device.type = FileType::kBlockDevice;
  device.rdev_major = 8;
  device.rdev_minor = 1;
  Attributes other = device;
  other.rdev_minor = 16;
  EXPECT_EQ(LongListing({{"sda1", device}, {"sdb", other}, {"f", Sample()}}, kNumeric),
            "brw-r--r-- 2 1000 100 8,  1 2023-11-14 23:13 sda1\n"
            "brw-r--r-- 2 1000 100 8, 16 2023-11-14 23:13 sdb\n"
            "-rw-r--r-- 2 1000 100     5 2023-11-14 23:13 f\n");
}

TEST_F(LongListingTest, OwnersAreNamedWhereTheyHaveANameHere) {
  Attributes known = Sample();
  known.uid = 0;
  known.gid = 0;
  Attributes unknown = Sample();
  unknown.uid = 4123456789;
  unknown.gid = 4123456789;
  EXPECT_EQ(LongListing({{"a", known}, {"b", unknown}}, {}),
            "-rw-r--r-- 2 root       root       5 2023-11-14 23:13 a\n"
            "-rw-r--r-- 2 4123456789 4123456789 5 2023-11-14 23:13 b\n");
}

TEST_F(LongListingTest, HumanSizesKeepTheirColumn) {
  Attributes large = Sample();
  large.size_bytes = 3'000'000;
  EXPECT_EQ(LongListing({{"a", Sample()}, {"b", large}}, {.numeric = true, .human = true}),
            "-rw-r--r-- 2 1000 100    5 2023-11-14 23:13 a\n"
            "-rw-r--r-- 2 1000 100 2.9M 2023-11-14 23:13 b\n");
}

TEST_F(LongListingTest, TheTotalIsTheDiskSpaceRoundedUpOnce) {
  EXPECT_EQ(TotalLine({{"a", Sample()}, {"b", Sample()}}, kNumeric), "total 9\n");
  EXPECT_EQ(TotalLine({{"a", Sample()}}, {.human = true}), "total 4.1K\n");
  EXPECT_EQ(TotalLine({}, kNumeric), "total 0\n");
}

}  // namespace
}  // namespace nfswalk::cli
