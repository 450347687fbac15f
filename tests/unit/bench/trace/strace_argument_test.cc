#include "bench/trace/strace_argument.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

namespace nfswalk::bench {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(StraceArgumentTest, ArgumentsAreSplitAtTopLevelCommasOnly) {
  EXPECT_EQ(SplitArguments(R"(AT_FDCWD</a,b>, "x,y\",z", {st_mode=S_IFREG|0644, st_size=1}, 0)"),
            (Pieces{"AT_FDCWD</a,b>", R"("x,y\",z")", "{st_mode=S_IFREG|0644, st_size=1}", "0"}));
  EXPECT_EQ(SplitArguments(R"("/bin/sh", ["sh", "-c", "a, b"], 0x1 /* 4 vars */)"),
            (Pieces{R"("/bin/sh")", R"(["sh", "-c", "a, b"])", "0x1 /* 4 vars */"}));
}

TEST(StraceArgumentTest, TheClosingParenthesisIsNotSoughtInsideStringsStructuresOrAnnotations) {
  const std::string_view text = R"x(3</a)b>, ")", {f(x)}, 1<<2) = 0)x";
  EXPECT_EQ(FindArgumentsEnd(text), text.rfind(')'));
  EXPECT_EQ(FindArgumentsEnd(R"("never ends)"), std::string_view::npos);
  EXPECT_EQ(FindArgumentsEnd("3</never ends"), std::string_view::npos);
}

TEST(StraceArgumentTest, EveryEscapeOfAQuotedStringIsUndone) {
  EXPECT_EQ(ParseQuoted(R"("a\n\t\r\v\f\"\\b")")->bytes, "a\n\t\r\v\f\"\\b");
  EXPECT_EQ(ParseQuoted(R"("\303\274")")->bytes, "\303\274");
  EXPECT_EQ(ParseQuoted(R"("\xc3\xbc")")->bytes, "\303\274");
}

TEST(StraceArgumentTest, AnOctalEscapeEndsBeforeTheFirstCharacterThatIsNoOctalDigit) {
  EXPECT_EQ(ParseQuoted(R"("\18")")->bytes, "\0018");
  EXPECT_EQ(ParseQuoted(R"("\0011")")->bytes, "\0011");
}

TEST(StraceArgumentTest, DotsBehindTheQuoteMeanThatTheTextWasCutShort) {
  EXPECT_TRUE(ParseQuoted(R"("/a/very/lon"...)")->cut_short);
  EXPECT_FALSE(ParseQuoted(R"("/a/name...")")->cut_short);
}

TEST(StraceArgumentTest, AnAddressInPlaceOfAStringIsNoText) {
  EXPECT_FALSE(ParseQuoted("0x7ffe1234"));
  EXPECT_FALSE(ParseQuoted("NULL"));
}

TEST(StraceArgumentTest, ADescriptorCarriesThePathThatWasPrintedWithIt) {
  const auto file = ParseDescriptor("3</usr/lib/libc.so.6>");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->has_path);
  EXPECT_FALSE(file->working_directory);
  EXPECT_EQ(file->path, "/usr/lib/libc.so.6");
  const auto here = ParseDescriptor("AT_FDCWD</src/git>");
  ASSERT_TRUE(here);
  EXPECT_TRUE(here->working_directory);
  EXPECT_EQ(here->path, "/src/git");
}

TEST(StraceArgumentTest, EscapesInAnAnnotationAreUndoneToo) {
  EXPECT_EQ(ParseDescriptor(R"(3</tmp/a\76b\nc>)")->path, "/tmp/a>b\nc");
}

TEST(StraceArgumentTest, ADescriptorWithoutAnAnnotationTellsNoPath) {
  EXPECT_FALSE(ParseDescriptor("7")->annotated);
  EXPECT_FALSE(ParseDescriptor("AT_FDCWD")->has_path);
  EXPECT_TRUE(ParseDescriptor("AT_FDCWD")->working_directory);
  EXPECT_FALSE(ParseDescriptor("0x7f00"));
}

TEST(StraceArgumentTest, APipeASocketAndADeletedFileHaveNoPath) {
  for (const char* text :
       {"4<pipe:[191984]>", "5<socket:[12]>", "6</tmp/x>(deleted)", "6</tmp/x (deleted)>",
        "7<anon_inode:[eventpoll]>", "8<TCP:[127.0.0.1:22->127.0.0.1:4000]>"}) {
    const auto descriptor = ParseDescriptor(text);
    ASSERT_TRUE(descriptor) << text;
    EXPECT_TRUE(descriptor->annotated) << text;
    EXPECT_FALSE(descriptor->has_path) << text;
  }
}

TEST(StraceArgumentTest, TheDeviceInsideAnAnnotationIsNoPartOfThePath) {
  EXPECT_EQ(ParseDescriptor("1</dev/null<char 1:3>>")->path, "/dev/null");
}

TEST(StraceArgumentTest, AResultIsANumberOrTheNameOfAnError) {
  EXPECT_EQ(ParseResult("27").value, 27);
  EXPECT_EQ(ParseResult("27").error, 0);
  EXPECT_EQ(ParseResult("-1 ENOENT (No such file or directory)").error, ENOENT);
  EXPECT_EQ(ParseResult("-1 ENOTDIR (Not a directory)").error, ENOTDIR);
  EXPECT_EQ(ParseResult("-1 EACCES (Permission denied)").error, EACCES);
  EXPECT_EQ(ParseResult("-1 ELOOP (Too many levels of symbolic links)").error, ELOOP);
  EXPECT_EQ(ParseResult("-1 EWHATEVER (Not known here)").error, -1);
}

TEST(StraceArgumentTest, AResultCanBeUnknownOrADescriptor) {
  EXPECT_FALSE(ParseResult("?").known);
  EXPECT_FALSE(ParseResult("? ERESTARTSYS (To be restarted if SA_RESTART is set)").known);
  const CallResult opened = ParseResult("3</usr/lib/libc.so.6>");
  ASSERT_TRUE(opened.descriptor);
  EXPECT_EQ(opened.value, 3);
  EXPECT_EQ(opened.descriptor->path, "/usr/lib/libc.so.6");
}

TEST(StraceArgumentTest, ModeAndSizeAreReadFromStatAndFromStatx) {
  const auto stat = ParseAttributes("{st_mode=S_IFREG|S_ISUID|0755, st_size=125640, ...}");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->mode, uint32_t{S_IFREG | S_ISUID | 0755});
  EXPECT_EQ(stat->size_bytes, 125640U);
  const auto statx = ParseAttributes(
      "{stx_mask=STATX_ALL, stx_attributes=0, stx_mode=S_IFLNK|0777, stx_size=7, ...}");
  ASSERT_TRUE(statx);
  EXPECT_EQ(statx->mode, uint32_t{S_IFLNK | 0777});
  EXPECT_EQ(statx->size_bytes, 7U);
}

TEST(StraceArgumentTest, ADeviceHasItsNumberInPlaceOfASize) {
  const auto device = ParseAttributes("{st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->mode, uint32_t{S_IFCHR | 0666});
  EXPECT_FALSE(device->size_bytes);
  EXPECT_EQ(device->rdev_major, 1U);
  EXPECT_EQ(device->rdev_minor, 3U);
}

TEST(StraceArgumentTest, AnAddressInPlaceOfAStructureHasNoAttributes) {
  EXPECT_FALSE(ParseAttributes("0x7ffc2724e9d0"));
  EXPECT_FALSE(ParseAttributes("{st_size=3}"));
}

TEST(StraceArgumentTest, AFlagIsFoundByItsWholeWord) {
  EXPECT_TRUE(HasFlag("O_RDONLY|O_CLOEXEC|O_DIRECTORY", "O_DIRECTORY"));
  EXPECT_FALSE(HasFlag("O_RDONLY|O_PATHOLOGY", "O_PATH"));
  EXPECT_FALSE(HasFlag("", "O_PATH"));
}

}  // namespace
}  // namespace nfswalk::bench
