#include "nfsclient/cli/show/stat_format.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "nfsclient/cli/show/escape.h"
#include "nfsclient/cli/show/format.h"
#include "nfsclient/cli/show/owner_name.h"

namespace nfswalk::cli {
namespace {

constexpr std::string_view kDirectives = "aAbBdDfFgGhinNrRstTuUxXyYzZ%";
constexpr const char* kAccepted =
    "%a %A %b %B %d %D %f %F %g %G %h %i %n %N %r %R %Hr %Lr %s %t %T %u %U %x %X %y %Y %z %Z and "
    "%%";
constexpr std::string_view kNumeric = "abBdDfghirRstTuXYZ";
constexpr size_t kWidthMax = 4096;
constexpr uint64_t kBlockBytes = 512;

// The number that `rest` begins with, taken away from it; more than kWidthMax is kWidthMax + 1.
size_t TakeNumber(std::string_view& rest) {
  size_t number = 0;
  while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
    number = std::min(number * 10 + static_cast<size_t>(rest[0] - '0'), kWidthMax + 1);
    rest.remove_prefix(1);
  }
  return number;
}

std::string UnknownDirective(std::string_view directive) {
  return fmt::format("'{}' is no directive: accepted are {}", directive, kAccepted);
}

// Seconds since 1970 with the given number of fractional digits, truncated.
std::string EpochSeconds(const protocol::Time& time, const std::optional<size_t>& precision) {
  if (!precision) return fmt::format("{}", time.seconds);
  int64_t seconds = time.seconds;
  uint32_t nanoseconds = time.nanoseconds;
  std::string sign;
  if (seconds < 0 && nanoseconds > 0) {  // the fraction counts forward, the text from zero away
    ++seconds;
    nanoseconds = 1'000'000'000 - nanoseconds;
    if (seconds == 0) sign = "-";
  }
  std::string fraction = fmt::format("{:09}", nanoseconds);
  fraction.resize(*precision, '0');
  return fmt::format("{}{}{}{}", sign, seconds, fraction.empty() ? "" : ".", fraction);
}

std::string Printed(const std::string& name, const StatSubject& subject) {
  return subject.escaped ? Escape(name) : name;
}

std::string Quoted(std::string_view name) { return fmt::format("'{}'", Escape(name)); }

const protocol::Time& TimeOf(char directive, const Attributes& attributes) {
  switch (directive) {
    case 'x':
    case 'X':
      return attributes.atime;
    case 'y':
    case 'Y':
      return attributes.mtime;
    default:
      return attributes.ctime;
  }
}

std::string OwnerOrUnknown(const std::string& name) { return name.empty() ? "UNKNOWN" : name; }

// Numbers that have an alternate form, with '#'.
std::string HexText(uint64_t number, bool alternate) {
  return alternate && number != 0 ? fmt::format("{:#x}", number) : fmt::format("{:x}", number);
}

std::string OctalText(uint32_t number, bool alternate) {
  return alternate && number != 0 ? fmt::format("{:#o}", number) : fmt::format("{:o}", number);
}

std::string DeviceText(char directive, char part, bool alternate, const Attributes& attributes) {
  const uint32_t major_number = attributes.rdev_major;
  const uint32_t minor_number = attributes.rdev_minor;
  if (part == 'H') return fmt::format("{}", major_number);
  if (part == 'L') return fmt::format("{}", minor_number);
  if (directive == 't') return HexText(major_number, alternate);
  if (directive == 'T') return HexText(minor_number, alternate);
  const uint64_t both = gnu_dev_makedev(major_number, minor_number);
  return directive == 'r' ? fmt::format("{}", both) : HexText(both, alternate);
}

std::string NumberText(char directive, bool alternate, const Attributes& attributes) {
  switch (directive) {
    case 'a':
      return OctalText(attributes.mode, alternate);
    case 'b':
      return fmt::format(
          "{}", attributes.used_bytes / kBlockBytes + (attributes.used_bytes % kBlockBytes != 0));
    case 'B':
      return fmt::format("{}", kBlockBytes);
    case 'd':
      return fmt::format("{}", attributes.fsid);
    case 'D':
      return HexText(attributes.fsid, alternate);
    case 'f':
      return HexText(static_cast<uint32_t>(attributes.type) << 12 | attributes.mode, alternate);
    case 'g':
      return fmt::format("{}", attributes.gid);
    case 'h':
      return fmt::format("{}", attributes.nlink);
    case 'i':
      return fmt::format("{}", attributes.fileid);
    case 's':
      return fmt::format("{}", attributes.size_bytes);
    default:
      return fmt::format("{}", attributes.uid);
  }
}

std::string WordText(char directive, const StatSubject& subject) {
  const Attributes& attributes = subject.attributes;
  switch (directive) {
    case 'A':
      return ModeString(attributes);
    case 'F':
      return std::string(TypeNameOf(attributes));
    case 'G':
      return OwnerOrUnknown(GroupName(attributes.gid));
    case 'U':
      return OwnerOrUnknown(UserName(attributes.uid));
    case 'n':
      return Printed(subject.name, subject);
    default:
      return subject.target.empty() ? Quoted(subject.name)
                                    : Quoted(subject.name) + " -> " + Quoted(subject.target);
  }
}

}  // namespace

// `rest` begins behind the '%'; what belongs to the directive is taken away from it.
std::expected<StatFormat::Piece, std::string> StatFormat::ParseDirective(std::string_view& rest) {
  const std::string_view whole = rest;
  const auto text = [&] { return "%" + std::string(whole.substr(0, whole.size() - rest.size())); };
  Piece piece;
  for (; !rest.empty() && std::string_view("-0#").contains(rest[0]); rest.remove_prefix(1)) {
    piece.left |= rest[0] == '-';
    piece.zeros |= rest[0] == '0';
    piece.alternate |= rest[0] == '#';
  }
  piece.width = TakeNumber(rest);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const bool digits = !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
    piece.precision = digits ? TakeNumber(rest) : 9;  // "%.X": all that there is
  }
  if (std::max(piece.width, piece.precision.value_or(0)) > kWidthMax) {
    return std::unexpected(
        fmt::format("'{}' is too wide: accepted are widths up to {}", text(), kWidthMax));
  }
  if (rest.starts_with("Hr") || rest.starts_with("Lr")) {
    piece.device_part = rest[0];
    rest.remove_prefix(1);
  }
  if (rest.empty()) {
    return std::unexpected(fmt::format(
        "nothing after '{}': %% prints a percent sign; else accepted are {}", text(), kAccepted));
  }
  piece.directive = rest[0];
  rest.remove_prefix(1);
  if (!kDirectives.contains(piece.directive)) return std::unexpected(UnknownDirective(text()));
  return piece;
}

std::expected<StatFormat, std::string> StatFormat::Parse(std::string_view text) {
  StatFormat format;
  while (!text.empty()) {
    const size_t percent = std::min(text.find('%'), text.size());
    std::string literal(text.substr(0, percent));
    text.remove_prefix(percent);
    Piece piece;
    if (!text.empty()) {
      text.remove_prefix(1);
      auto parsed = ParseDirective(text);
      if (!parsed) return std::unexpected(std::move(parsed.error()));
      piece = *std::move(parsed);
    }
    piece.literal = std::move(literal);
    format.pieces_.push_back(std::move(piece));
  }
  return format;
}

std::string StatFormat::RenderPiece(const Piece& piece, const StatSubject& subject) {
  const char directive = piece.directive;
  const Attributes& attributes = subject.attributes;
  const bool is_time = std::string_view("xXyYzZ").contains(directive);
  const bool is_number = kNumeric.contains(directive);
  std::string text;
  if (directive == '%') return "%";
  if (is_time) {
    const protocol::Time& time = TimeOf(directive, attributes);
    text = is_number ? EpochSeconds(time, piece.precision) : LocalTime(time);
  } else if (std::string_view("rRtT").contains(directive)) {
    text = DeviceText(directive, piece.device_part, piece.alternate, attributes);
  } else if (is_number) {
    text = NumberText(directive, piece.alternate, attributes);
  } else {
    text = WordText(directive, subject);
  }
  if (!is_number && piece.precision) text.resize(std::min(text.size(), *piece.precision));
  if (text.size() >= piece.width) return text;
  const size_t missing = piece.width - text.size();
  if (piece.left) return text + std::string(missing, ' ');
  if (!piece.zeros || !is_number) return std::string(missing, ' ') + text;
  return text.insert(text.starts_with('-') ? 1 : 0, missing, '0');
}

std::string StatFormat::Render(const StatSubject& subject) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    text += piece.literal;
    if (piece.directive != '\0') text += RenderPiece(piece, subject);
  }
  return text;
}

std::string StatBlock(const StatSubject& subject) {
  static const StatFormat kHead =
      *StatFormat::Parse("  Size: %-10s\tBlocks: %-10b %F\nDevice: %Dh\tInode: %-10i  Links: %h");
  static const StatFormat kDevice = *StatFormat::Parse("  Device type: %Hr,%Lr");
  static const StatFormat kTail = *StatFormat::Parse(
      "\nAccess: (%04a/%A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\n"
      "Access: %x\nModify: %y\nChange: %z\n");
  std::string text = "  File: " + Printed(subject.name, subject);
  if (!subject.target.empty()) text += " -> " + Printed(subject.target, subject);
  text += "\n" + kHead.Render(subject);
  if (IsDevice(subject.attributes.type)) text += kDevice.Render(subject);
  text += kTail.Render(subject);
  std::string_view head = "   ACL: ";
  for (const std::string& entry : subject.acl) {
    text += fmt::format("{}{}\n", std::exchange(head, "        "), Escape(entry));
  }
  head = "Xattrs: ";
  for (const auto& [name, value] : subject.xattrs) {
    text +=
        fmt::format("{}{}=\"{}\"\n", std::exchange(head, "        "), Escape(name), Escape(value));
  }
  return text;
}

}  // namespace nfswalk::cli
