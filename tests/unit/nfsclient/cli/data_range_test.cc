#include "nfsclient/cli/copy/data_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace nfswalk::cli {
namespace {

constexpr std::errc kNone = std::errc::no_such_device_or_address;

// lseek(2) of a file in which '.' is a hole.
auto SeekIn(std::string_view file) {
  return [file](uint64_t from, Content content) -> Result<uint64_t> {
    if (from >= file.size()) return std::unexpected(kNone);
    const size_t found = content == Content::kData ? file.find_first_not_of('.', from)
                                                   : std::min(file.find('.', from), file.size());
    return found == file.npos ? Result<uint64_t>(std::unexpected(kNone)) : found;
  };
}

// Returns the ranges that a copy reads, as "begin-end ", of a file that is `now` and was of this
// size when it was opened.
std::string RangesOf(std::string_view now, uint64_t size_bytes, uint64_t used_bytes = 0) {
  Attributes attributes;
  attributes.size_bytes = size_bytes;
  attributes.used_bytes = used_bytes;
  std::string ranges;
  for (uint64_t at = 0;;) {
    const DataRange data = NextData(attributes, at, SeekIn(now));
    ranges += std::to_string(data.begin) + "-";
    if (data.end == DataRange::kOpenEnd) return ranges;
    ranges += std::to_string(data.end) + " ";
    at = data.end;
  }
}

TEST(NextData, PassesOverHoles) {
  EXPECT_EQ(RangesOf("..ab..c", 7), "2-4 6-7 7-");
  EXPECT_EQ(RangesOf("ab....", 6), "0-2 6-") << "a hole at the end";
  EXPECT_EQ(RangesOf("......", 6), "6-");
  EXPECT_EQ(RangesOf("abc", 3), "0-3 3-");
  EXPECT_EQ(RangesOf("", 0), "0-");
}

TEST(NextData, IsAllOfAFileWithoutHoles) { EXPECT_EQ(RangesOf("ab..", 4, 4), "0-"); }

// Zeros as long as it was would be invented.
TEST(NextData, AFileThatWasCutIsReadToItsEnd) {
  EXPECT_EQ(RangesOf("", 6), "0-");
  EXPECT_EQ(RangesOf("ab.", 6), "0-2 2-");
}

TEST(NextData, AFileThatHasGrownIsReadToItsEnd) {
  EXPECT_EQ(RangesOf("ab....cd", 6), "0-2 6-8 8-");
}

TEST(NextData, IsAllOfAFileWhoseHolesCannotBeAskedFor) {
  Attributes attributes;
  attributes.size_bytes = 6;
  const DataRange data = NextData(attributes, 2, [](uint64_t, Content) -> Result<uint64_t> {
    return std::unexpected(std::errc::io_error);
  });
  EXPECT_EQ(data.begin, 2u);
  EXPECT_EQ(data.end, DataRange::kOpenEnd);
}

}  // namespace
}  // namespace nfswalk::cli
