#include "nfsclient/cli/escape.h"

#include <gtest/gtest.h>

#include <string>

namespace nfswalk::cli {
namespace {

TEST(Escape, LeavesPlainAndForeignLettersAlone) {
  EXPECT_EQ(Escape("usr/include [a] {b}'\""), "usr/include [a] {b}'\"");
  EXPECT_EQ(Escape("gr\xc3\xb6\xc3\x9f"
                   "e \xe2\x82\xac \xf0\x9f\x90\xa7"),
            "gr\xc3\xb6\xc3\x9f"
            "e \xe2\x82\xac \xf0\x9f\x90\xa7");
  EXPECT_EQ(Escape(""), "");
}

TEST(Escape, DisarmsTerminalSequences) {
  EXPECT_EQ(Escape("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(Escape("a\nb\tc\rd\x7f"), "a\\nb\\tc\\rd\\x7f");
  EXPECT_EQ(Escape(std::string("\0", 1)), "\\x00");
}

// U+009B is CSI to a terminal that speaks 8-bit controls.
TEST(Escape, DisarmsC1ControlsHoweverTheyAreEncoded) {
  EXPECT_EQ(Escape("\xc2\x9b"
                   "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(Escape("\x9b"
                   "31m"),
            "\\x9b31m");
}

TEST(Escape, ShowsWhatIsNotUtf8ByteByByte) {
  EXPECT_EQ(Escape("a\xff"
                   "b"),
            "a\\xffb");
  EXPECT_EQ(Escape("\xc3"), "\\xc3");
  EXPECT_EQ(Escape("\xe2\x82"), "\\xe2\\x82");
}

TEST(Escape, DoublesBackslashesSoThatNothingIsAmbiguous) {
  EXPECT_EQ(Escape("\\n"), "\\\\n");
  EXPECT_NE(Escape("\\n"), Escape("\n"));
}

TEST(IsUtf8, RefusesOverlongFormsSurrogatesAndWhatLiesBeyondUnicode) {
  EXPECT_TRUE(IsUtf8("plain \xc3\xa4 \xed\x9f\xbf \xf4\x8f\xbf\xbf"));
  EXPECT_FALSE(IsUtf8("\xc0\xaf"));
  EXPECT_FALSE(IsUtf8("\xe0\x80\xaf"));
  EXPECT_FALSE(IsUtf8("\xf0\x80\x80\xaf"));
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));
  EXPECT_FALSE(IsUtf8("\x80"));
}

// The vectors of RFC 4648 10.
TEST(Base64, AgreesWithTheRfc) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace nfswalk::cli
