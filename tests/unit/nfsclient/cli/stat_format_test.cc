#include "nfsclient/cli/stat_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include <string>

namespace nfswalk::cli {
namespace {

using protocol::FileType;
using testing::AllOf;
using testing::HasSubstr;

class StatFormatTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC-1", 1);  // an hour ahead of UTC, POSIX spelling
    tzset();
    Attributes& attributes = sample_.attributes;
    attributes.mode = 0644;
    attributes.nlink = 2;
    attributes.uid = 4123456789;
    attributes.gid = 0;
    attributes.size_bytes = 5;
    attributes.used_bytes = 4096;
    attributes.fsid = 0xabc;
    attributes.fileid = 77;
    attributes.atime = {.seconds = 0, .nanoseconds = 1};
    attributes.mtime = {.seconds = 1'700'000'000, .nanoseconds = 5};
    attributes.ctime = {.seconds = -2, .nanoseconds = 750'000'000};
  }

  std::string Render(const char* text) const {
    const auto format = StatFormat::Parse(text);
    return format ? format->Render(sample_) : "refused: " + format.error();
  }

  StatSubject sample_{.name = "usr/x", .target = ""};
};

TEST_F(StatFormatTest, TheBlockNamesEverything) {
  EXPECT_EQ(StatBlock(sample_),
            "  File: usr/x\n"
            "  Size: 5         \tBlocks: 8          regular file\n"
            "Device: abch\tInode: 77          Links: 2\n"
            "Access: (0644/-rw-r--r--)  Uid: (4123456789/ UNKNOWN)   Gid: (    0/    root)\n"
            "Access: 1970-01-01 01:00:00.000000001 +0100\n"
            "Modify: 2023-11-14 23:13:20.000000005 +0100\n"
            "Change: 1970-01-01 00:59:58.750000000 +0100\n");
}

TEST_F(StatFormatTest, TheBlockOfADeviceHasItsNumbers) {
  sample_.attributes.type = FileType::kCharacterDevice;
  sample_.attributes.rdev_major = 1;
  sample_.attributes.rdev_minor = 3;
  EXPECT_THAT(StatBlock(sample_), AllOf(HasSubstr("character special file\n"),
                                        HasSubstr("Links: 2  Device type: 1,3\n")));
}

TEST_F(StatFormatTest, TextStaysAndPercentIsDoubled) {
  EXPECT_EQ(Render(""), "");
  EXPECT_EQ(Render("a\\n%%%n%%b"), "a\\n%usr/x%b");
}

TEST_F(StatFormatTest, WidthsAndFlagsPad) {
  EXPECT_EQ(Render("[%8s][%-8s][%08s][%2i]"), "[       5][5       ][00000005][77]");
  EXPECT_EQ(Render("[%9n][%-9n][%.3n][%05n]"), "[    usr/x][usr/x    ][usr][usr/x]");
  EXPECT_EQ(Render("%#a %a %04a"), "0644 644 0644");
  EXPECT_EQ(Render("%f %#f %D"), "81a4 0x81a4 abc");
}

TEST_F(StatFormatTest, SecondsHaveAsManyDigitsAsAskedFor) {
  EXPECT_EQ(Render("%X %.X %Y %.3Y %.10Y"),
            "0 0.000000001 1700000000 1700000000.000 1700000000.0000000050");
  EXPECT_EQ(Render("%Z %.2Z"), "-2 -1.25");
}

TEST_F(StatFormatTest, LinksShowWhereTheyLead) {
  sample_.target = "a\nb";
  EXPECT_EQ(Render("%N"), "'usr/x' -> 'a\\nb'");
  EXPECT_EQ(Render("%n"), "usr/x");
}

TEST_F(StatFormatTest, NamesAreEscapedOnceForATerminal) {
  sample_.name = "\x1b[2J";
  EXPECT_EQ(Render("%n"), "\x1b[2J");
  sample_.escaped = true;
  EXPECT_EQ(Render("%n %N"), "\\x1b[2J '\\x1b[2J'");
  EXPECT_THAT(StatBlock(sample_), HasSubstr("File: \\x1b[2J\n"));
}

TEST_F(StatFormatTest, WhatIsNoDirectiveIsNamedWithThoseThatAre) {
  EXPECT_THAT(Render("%n %-5q"), AllOf(HasSubstr("'%-5q' is no directive"), HasSubstr("%a %A")));
  EXPECT_THAT(Render("%w"), HasSubstr("'%w'"));
  EXPECT_THAT(Render("%Hd"), HasSubstr("'%H'"));
  EXPECT_THAT(Render("%n%"), HasSubstr("nothing after '%'"));
  EXPECT_THAT(Render("%99999s"), HasSubstr("'%99999'"));
  EXPECT_THAT(Render("%.99999999999999999999s"), HasSubstr("too wide"));
}

}  // namespace
}  // namespace nfswalk::cli
