#include "bench/trace/trace_text.h"

#include <gtest/gtest.h>
#include <lzma.h>

#include <fstream>
#include <string_view>
#include <vector>

namespace nfswalk::bench {
namespace {

std::string WriteFile(const std::string& name, std::string_view bytes) {
  std::string file = testing::TempDir() + "/" + name;
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

std::string Packed(std::string_view text) {
  std::vector<uint8_t> packed(lzma_stream_buffer_bound(text.size()));
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                    packed.data(), &size, packed.size()),
            LZMA_OK);
  return {reinterpret_cast<const char*>(packed.data()), size};
}

// Larger than one chunk of the unpacker.
std::string LongText() {
  std::string text;
  for (int i = 0; text.size() < (size_t{3} << 19); ++i) {
    text += std::to_string(i) + " close(3) = 0\n";
  }
  return text;
}

TEST(TraceTextTest, PlainTextIsReadAsItIs) {
  const std::string text = LongText();
  const auto read = ReadTraceText(WriteFile("plain", text));
  ASSERT_TRUE(read) << read.error();
  EXPECT_TRUE(*read == text);
}

TEST(TraceTextTest, XzIsUnpackedWhateverTheFileIsCalled) {
  const std::string text = LongText();
  const auto read = ReadTraceText(WriteFile("packed.txt", Packed(text)));
  ASSERT_TRUE(read) << read.error();
  EXPECT_TRUE(*read == text);
}

TEST(TraceTextTest, XzStreamsOneBehindTheOtherAreOneText) {
  const auto read = ReadTraceText(WriteFile("two.xz", Packed("one\n") + Packed("two\n")));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*read, "one\ntwo\n");
}

TEST(TraceTextTest, ATruncatedXzIsAnErrorThatSaysSo) {
  const std::string packed = Packed(LongText());
  for (const size_t kept : {packed.size() - 1, packed.size() / 2, size_t{6}}) {
    const auto read = ReadTraceText(WriteFile("short.xz", packed.substr(0, kept)));
    ASSERT_FALSE(read) << kept;
    EXPECT_NE(read.error().find("short.xz: ends in the middle"), std::string::npos) << read.error();
  }
}

TEST(TraceTextTest, ADamagedXzIsAnError) {
  std::string packed = Packed(LongText());
  packed[packed.size() / 2] ^= 0x55;
  const auto read = ReadTraceText(WriteFile("damaged.xz", packed));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().find("damaged.xz: damaged .xz data"), std::string::npos) << read.error();
}

TEST(TraceTextTest, AFileThatIsNotThereIsNamedInTheError) {
  const auto read = ReadTraceText("/nowhere/trace.xz");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), "/nowhere/trace.xz: cannot open: No such file or directory");
}

TEST(TraceTextTest, ADirectoryIsNoTrace) {
  const auto read = ReadTraceText(testing::TempDir());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().find("cannot read: Is a directory"), std::string::npos) << read.error();
}

}  // namespace
}  // namespace nfswalk::bench
