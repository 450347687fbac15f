// How the command shows a file: modes, sizes, times and names in ls, stat and JSON.
#include "nfsclient/cli/show/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "nfsclient/cli/show/color.h"
#include "nfsclient/cli/show/human_size.h"
#include "nfsclient/cli/show/long_listing.h"
#include "nfsclient/cli/show/stat_format.h"

namespace nfswalk::cli {
namespace {

using protocol::FileType;
using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class Format : public testing::Test {
 protected:
  Format() {
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    setenv("TZ", "UTC-1", 1);  // an hour ahead of UTC, POSIX spelling
    tzset();
  }

  static Attributes Of(FileType type, uint32_t mode) {
    Attributes attributes;
    attributes.type = type;
    attributes.mode = mode;
    return attributes;
  }
  static Attributes Sample() {
    Attributes attributes = Of(FileType::kRegular, 0644);
    attributes.nlink = 2;
    attributes.uid = 1000;
    attributes.gid = 100;
    attributes.size_bytes = 5;
    attributes.used_bytes = 4097;
    attributes.fsid = 0xabc;
    attributes.fileid = 77;
    attributes.atime = {.seconds = 0, .nanoseconds = 1};
    attributes.mtime = {.seconds = 1'700'000'000, .nanoseconds = 5};
    attributes.ctime = {.seconds = -2, .nanoseconds = 750'000'000};
    return attributes;
  }
};

TEST_F(Format, SizesAreRoundedUpNeverDown) {
  for (const auto& [bytes, text] : {std::pair{uint64_t{0}, "0"},
                                    {1023, "1023"},
                                    {1024, "1.0K"},
                                    {1025, "1.1K"},
                                    {10 * 1024 - 1, "10K"},
                                    {10 * 1024 + 1, "11K"},
                                    {1023 * 1024, "1023K"},
                                    {1023 * 1024 + 1, "1.0M"},
                                    {(uint64_t{3} << 30) + 1, "3.1G"},
                                    {UINT64_MAX, "16E"}}) {
    EXPECT_EQ(HumanSize(bytes), text);
  }
  EXPECT_EQ(Kibibytes(0), 0u);
  EXPECT_EQ(Kibibytes(1024), 1u);
  EXPECT_EQ(Kibibytes(1025), 2u);
  EXPECT_EQ(Kibibytes(UINT64_MAX), uint64_t{1} << 54);
}

TEST_F(Format, ColorIsForTerminalsUnlessTheUserOrTheEnvironmentSaysOtherwise) {
  EXPECT_TRUE(UseColor(ColorWhen::kAuto, true));
  EXPECT_FALSE(UseColor(ColorWhen::kAuto, false));
  EXPECT_TRUE(UseColor(ColorWhen::kAlways, false));
  EXPECT_FALSE(UseColor(ColorWhen::kNever, true));
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(UseColor(ColorWhen::kAuto, true));
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(UseColor(ColorWhen::kAuto, true));
  setenv("NO_COLOR", "0", 1);
  EXPECT_FALSE(UseColor(ColorWhen::kAuto, true));
  EXPECT_TRUE(UseColor(ColorWhen::kAlways, true));
}

TEST_F(Format, AWrongWordForColorIsNamedWithTheRightOnes) {
  EXPECT_EQ(ParseColorWhen("auto"), ColorWhen::kAuto);
  EXPECT_EQ(ParseColorWhen("always"), ColorWhen::kAlways);
  EXPECT_EQ(ParseColorWhen("never"), ColorWhen::kNever);
  EXPECT_THAT(ParseColorWhen("yes").error(),
              AllOf(HasSubstr("'yes'"), HasSubstr("auto, always or never")));
}

TEST_F(Format, TypesHaveColorsAndPlainFilesNone) {
  const auto colored = [](FileType type, uint32_t mode) { return Colored("x", Of(type, mode)); };
  EXPECT_EQ(colored(FileType::kRegular, 0644), "x");
  EXPECT_EQ(colored(FileType::kRegular, 0755), "\033[01;32mx\033[0m");
  EXPECT_EQ(colored(FileType::kRegular, 04755), "\033[37;41mx\033[0m");
  EXPECT_EQ(colored(FileType::kDirectory, 0755), "\033[01;34mx\033[0m");
  EXPECT_EQ(colored(FileType::kDirectory, 01777), "\033[30;42mx\033[0m");
  EXPECT_EQ(colored(FileType::kSymlink, 0777), "\033[01;36mx\033[0m");
}

TEST_F(Format, ModesReadAsInLs) {
  const auto mode = [](FileType type, uint32_t bits) { return ModeString(Of(type, bits)); };
  EXPECT_EQ(mode(FileType::kRegular, 0644), "-rw-r--r--");
  EXPECT_EQ(mode(FileType::kRegular, 0), "----------");
  EXPECT_EQ(mode(FileType::kDirectory, 01777), "drwxrwxrwt");
  EXPECT_EQ(mode(FileType::kDirectory, 01776), "drwxrwxrwT");
  EXPECT_EQ(mode(FileType::kRegular, 06755), "-rwsr-sr-x");
  EXPECT_EQ(mode(FileType::kRegular, 06644), "-rwSr-Sr--");
  EXPECT_EQ(mode(FileType::kSymlink, 0777), "lrwxrwxrwx");
  EXPECT_EQ(mode(FileType::kCharacterDevice, 0600)[0], 'c');
  EXPECT_EQ(mode(FileType::kBlockDevice, 0600)[0], 'b');
  EXPECT_EQ(mode(FileType::kFifo, 0600)[0], 'p');
  EXPECT_EQ(mode(FileType::kSocket, 0600)[0], 's');
}

TEST_F(Format, EmptyFilesHaveATypeOfTheirOwn) {
  Attributes attributes = Sample();
  attributes.size_bytes = 0;
  EXPECT_EQ(TypeNameOf(attributes), "regular empty file");
  attributes.type = FileType::kSocket;
  EXPECT_EQ(TypeNameOf(attributes), "socket");
}

TEST_F(Format, JsonHasTheDocumentedKeysInTheirOrderAndWholeNumbers) {
  Attributes attributes = Sample();
  attributes.fileid = UINT64_MAX;
  attributes.ctime = {.seconds = 1'700'000'001, .nanoseconds = 999'999'999};
  JsonObject object = PathJson("usr/x");
  AddAttributes(object, attributes);
  EXPECT_EQ(JsonLine(object),
            "{\"path\":\"usr/x\",\"type\":\"regular file\",\"mode\":\"0644\",\"nlink\":2,"
            "\"uid\":1000,\"gid\":100,\"size_bytes\":5,\"used_bytes\":4097,\"rdev_major\":0,"
            "\"rdev_minor\":0,\"fsid\":2748,\"fileid\":18446744073709551615,"
            "\"atime\":\"1970-01-01T00:00:00.000000001Z\","
            "\"mtime\":\"2023-11-14T22:13:20.000000005Z\","
            "\"ctime\":\"2023-11-14T22:13:21.999999999Z\"}\n");
}

TEST_F(Format, JsonOfANameThatIsNotUtf8IsValidAndLosesNothing) {
  const Json object = Json::parse(JsonLine(PathJson("d/\xff")));
  EXPECT_EQ(object["path"], "d/\xef\xbf\xbd");
  EXPECT_EQ(object["path_base64"], "ZC//");
  EXPECT_FALSE(Json::parse(JsonLine(PathJson("d/\xc3\xa4"))).contains("path_base64"));
}

TEST_F(Format, AJsonLineIsOneLineWhateverTheName) {
  const std::string line = JsonLine(PathJson("a\nb\x1b"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(Json::parse(line)["path"], "a\nb\x1b");
}

// A terminal may obey U+009B as it obeys ESC [.
TEST_F(Format, JsonHasNoControlCharacterAsItself) {
  for (int code = 1; code < 0x100; ++code) {
    std::string name = "a";
    if (code < 0x80) {
      name += static_cast<char>(code);
    } else {
      name += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    }
    const std::string line = JsonLine(PathJson(name += "z"));
    const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const bool is_escaped = is_control || code == '"' || code == '\\';
    EXPECT_EQ(line.find(name) == std::string::npos, is_escaped) << code;
    EXPECT_EQ(Json::parse(line)["path"], name) << code;
    EXPECT_FALSE(Json::parse(line).contains("path_base64")) << code;
  }
}

// Readers of JSON get the character, people see what stands there in its order.
TEST_F(Format, JsonHasNoCharacterThatTurnsTheDirectionAsItself) {
  for (const char* turn : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    const std::string name = std::string("a") + turn + "gpj.exe";
    const std::string line = JsonLine(PathJson(name));
    EXPECT_EQ(line.find(turn), std::string::npos) << line;
    EXPECT_EQ(Json::parse(line)["path"], name) << line;
  }
  for (const char* other : {"\u061d", "\u200d", "\u2010", "\u202f", "\u2065", "\u206a"}) {
    EXPECT_NE(JsonLine(PathJson(other)).find(other), std::string::npos);
  }
}

TEST_F(Format, JsonErrorsCarryNameNumberAndMessage) {
  JsonObject object = PathJson("x");
  AddError(object, std::errc::no_such_file_or_directory);
  EXPECT_EQ(JsonLine(object),
            "{\"path\":\"x\",\"error\":{\"name\":\"ENOENT\",\"number\":2,"
            "\"message\":\"No such file or directory\"}}\n");
}

class LongListingTest : public Format {
 protected:
  static constexpr LongStyle kNumeric{.numeric = true};
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
  large.size_bytes = 3'000'000;
  EXPECT_EQ(LongListing({{"a", Sample()}, {"b", large}}, {.numeric = true, .human = true}),
            "-rw-r--r--  2 1000 100    5 2023-11-14 23:13 a\n"
            "drw-r--r-- 12    0 100 2.9M 2023-11-14 23:13 b\n");
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
  Attributes known = Sample(), unknown = Sample();
  known.uid = known.gid = 0;
  unknown.uid = unknown.gid = 4123456789;
  EXPECT_EQ(LongListing({{"a", known}, {"b", unknown}}, {}),
            "-rw-r--r-- 2 root       root       5 2023-11-14 23:13 a\n"
            "-rw-r--r-- 2 4123456789 4123456789 5 2023-11-14 23:13 b\n");
}

TEST_F(LongListingTest, TheTotalIsTheDiskSpaceRoundedUpOnce) {
  EXPECT_EQ(TotalLine({{"a", Sample()}, {"b", Sample()}}, kNumeric), "total 9\n");
  EXPECT_EQ(TotalLine({{"a", Sample()}}, {.human = true}), "total 4.1K\n");
  EXPECT_EQ(TotalLine({}, kNumeric), "total 0\n");
}

TEST_F(LongListingTest, APlusIsBehindRightsThatAnAclChanges) {
  EXPECT_EQ(LongListing({{"a", Sample(), true}, {"b", Sample()}}, kNumeric),
            "-rw-r--r--+ 2 1000 100 5 2023-11-14 23:13 a\n"
            "-rw-r--r--  2 1000 100 5 2023-11-14 23:13 b\n");
}

class StatFormatTest : public Format {
 protected:
  StatFormatTest() {
    sample_.attributes = Sample();
    sample_.attributes.uid = 4123456789;
    sample_.attributes.gid = 0;
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
            "  Size: 5         \tBlocks: 9          regular file\n"
            "Device: abch\tInode: 77          Links: 2\n"
            "Access: (0644/-rw-r--r--)  Uid: (4123456789/ UNKNOWN)   Gid: (    0/    root)\n"
            "Access: 1970-01-01 01:00:00.000000001 +0100\n"
            "Modify: 2023-11-14 23:13:20.000000005 +0100\n"
            "Change: 1970-01-01 00:59:58.750000000 +0100\n");
  sample_.attributes.type = FileType::kCharacterDevice;
  sample_.attributes.rdev_major = 1;
  sample_.attributes.rdev_minor = 3;
  EXPECT_THAT(StatBlock(sample_), AllOf(HasSubstr("character special file\n"),
                                        HasSubstr("Links: 2  Device type: 1,3\n")));
}

TEST_F(StatFormatTest, TheBlockEndsWithTheAclAndExtendedAttributes) {
  sample_.acl = {"A::OWNER@:r", "A::a\nb:w"};
  sample_.xattrs = {{"user.a", "1"}, {"user.b", "\x1b"}};
  EXPECT_THAT(StatBlock(sample_), testing::EndsWith("   ACL: A::OWNER@:r\n"
                                                    "        A::a\\nb:w\n"
                                                    "Xattrs: user.a=\"1\"\n"
                                                    "        user.b=\"\\x1b\"\n"));
}

TEST_F(StatFormatTest, DirectivesAreReplacedAndPadded) {
  EXPECT_EQ(Render(""), "");
  EXPECT_EQ(Render("a\\n%%%n%%b"), "a\\n%usr/x%b");
  EXPECT_EQ(Render("[%8s][%-8s][%08s][%2i]"), "[       5][5       ][00000005][77]");
  EXPECT_EQ(Render("[%9n][%-9n][%.3n][%05n]"), "[    usr/x][usr/x    ][usr][usr/x]");
  EXPECT_EQ(Render("%#a %a %04a"), "0644 644 0644");
  EXPECT_EQ(Render("%f %#f %D"), "81a4 0x81a4 abc");
  EXPECT_EQ(Render("%X %.X %Y %.3Y %.10Y"),
            "0 0.000000001 1700000000 1700000000.000 1700000000.0000000050");
  EXPECT_EQ(Render("%Z %.2Z"), "-2 -1.25");
}

TEST_F(StatFormatTest, LinksShowWhereTheyLeadAndNamesAreEscapedOnceForATerminal) {
  sample_.target = "a\nb";
  EXPECT_EQ(Render("%n %N"), "usr/x 'usr/x' -> 'a\\nb'");
  sample_.target = "";
  sample_.name = "\x1b[2J";
  EXPECT_EQ(Render("%n"), "\x1b[2J");
  sample_.escaped = true;
  EXPECT_EQ(Render("%n %N"), "\\x1b[2J '\\x1b[2J'");
  EXPECT_THAT(StatBlock(sample_), HasSubstr("File: \\x1b[2J\n"));
}

TEST_F(StatFormatTest, UnknownDirectiveIsNamedWithTheKnownOnes) {
  EXPECT_THAT(Render("%n %-5q"), AllOf(HasSubstr("'%-5q' is no directive"), HasSubstr("%a %A")));
  EXPECT_THAT(Render("%w"), HasSubstr("'%w'"));
  EXPECT_THAT(Render("%Hd"), HasSubstr("'%H'"));
  EXPECT_THAT(Render("%n%"), HasSubstr("nothing after '%'"));
  EXPECT_THAT(Render("%99999s"), HasSubstr("'%99999'"));
  EXPECT_THAT(Render("%.99999999999999999999s"), HasSubstr("too wide"));
}

}  // namespace
}  // namespace nfswalk::cli
