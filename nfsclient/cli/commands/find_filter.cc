#include "nfsclient/cli/commands/find_filter.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <charconv>
#include <system_error>
#include <utility>

#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/show/format.h"

namespace nfswalk::cli {
namespace {

// 0: no unit.
uint64_t UnitBytes(std::string_view letter) {
  if (letter.empty() || letter == "b") return 512;
  if (letter == "c") return 1;
  if (letter == "w") return 2;
  if (letter == "k") return uint64_t{1} << 10;
  if (letter == "M") return uint64_t{1} << 20;
  if (letter == "G") return uint64_t{1} << 30;
  return 0;
}

bool Fits(const std::optional<std::string>& pattern, const std::string& text, int flags) {
  return !pattern || fnmatch(pattern->c_str(), text.c_str(), flags) == 0;
}

}  // namespace

bool SizeTest::Matches(uint64_t size_bytes) const {
  const uint64_t rounded_up = size_bytes / unit_bytes + (size_bytes % unit_bytes != 0);
  if (sign == '+') return rounded_up > units;
  if (sign == '-') return rounded_up < units;
  return rounded_up == units;
}

std::expected<SizeTest, std::string> ParseSizeTest(std::string_view text) {
  SizeTest test;
  std::string_view rest = text;
  if (rest.starts_with('+') || rest.starts_with('-')) {
    test.sign = rest[0];
    rest.remove_prefix(1);
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), test.units);
  test.unit_bytes = UnitBytes({end, rest.data() + rest.size()});
  if (error != std::errc{} || test.unit_bytes == 0) {
    return std::unexpected(fmt::format(
        "'{}': accepted is a number, + or - before it (more, less), c w b k M or G after it "
        "(bytes, 2 bytes, 512 bytes, KiB, MiB, GiB), as in +10M",
        text));
  }
  return test;
}

std::expected<std::string, std::string> ParseTypes(std::string_view text) {
  static constexpr std::string_view kLetters = "fdlbcps";
  std::string types;
  bool good = text.size() % 2 == 1;
  for (size_t i = 0; i < text.size() && good; ++i) {
    good = i % 2 == 1 ? text[i] == ',' : kLetters.contains(text[i]);
    if (i % 2 == 0) types += text[i];
  }
  if (good) return types;
  return std::unexpected(fmt::format(
      "'{}': accepted is one of f (file), d (directory), l (link), b, c, p, s, or several with "
      "commas",
      text));
}

bool FindFilter::Matches(const std::string& file_path, const Attributes& attributes) const {
  if (!types.empty() && !types.contains(TypeLetter(attributes.type))) return false;
  if (size && !size->Matches(attributes.size_bytes)) return false;
  const protocol::Time& modified = attributes.mtime;
  if (newer && std::pair(modified.seconds, modified.nanoseconds) <=
                   std::pair(newer->seconds, newer->nanoseconds)) {
    return false;
  }
  if (!Fits(path, file_path, 0)) return false;
  if (!name && !iname) return true;
  const std::string base(BaseName(file_path));
  return Fits(name, base, 0) && Fits(iname, base, FNM_CASEFOLD);
}

}  // namespace nfswalk::cli
