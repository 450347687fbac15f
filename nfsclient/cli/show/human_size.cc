#include "nfsclient/cli/show/human_size.h"

#include <fmt/format.h>

#include <string_view>

namespace nfswalk::cli {

std::string HumanSize(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{}", bytes);
  static constexpr std::string_view kLetters = "KMGTPE";
  uint64_t unit = 1024;
  for (const char letter : kLetters) {
    const uint64_t whole = bytes / unit + (bytes % unit != 0);
    if (whole < 1024 || letter == kLetters.back()) {
      // The remainder is below 2^60 and times ten still fits.
      const uint64_t tenths = bytes / unit * 10 + (bytes % unit * 10 + unit - 1) / unit;
      if (tenths >= 100) return fmt::format("{}{}", whole, letter);
      return fmt::format("{}.{}{}", tenths / 10, tenths % 10, letter);
    }
    unit *= 1024;
  }
  return {};  // not reached: the last letter fits all
}

}  // namespace nfswalk::cli
