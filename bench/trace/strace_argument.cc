#include "bench/trace/strace_argument.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <utility>

namespace nfswalk::bench {
namespace {

constexpr size_t kNpos = std::string_view::npos;

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsOctal(char c) { return c >= '0' && c <= '7'; }

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  const int lower = std::tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Offset behind the closing quote of the string that begins at `at`, npos if it does not end.
size_t SkipQuoted(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return kNpos;
}

// Whether the '<' at `at` opens an annotation: it follows a descriptor number or AT_FDCWD.
bool OpensAnnotation(std::string_view text, size_t at) {
  return at > 0 && (IsDigit(text[at - 1]) || text.substr(0, at).ends_with("AT_FDCWD")) &&
         at + 1 < text.size() && text[at + 1] != '<';
}

// Offset behind the '>' that closes the annotation opened at `at`. strace writes < and > inside a
// name as octal escapes; -yy nests one pair.
size_t SkipAnnotation(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '<') ++depth;
    // "TCP:[1.2.3.4:5->...]" of -yy: the arrow closes nothing.
    const bool arrow = text[at] == '>' && text[at - 1] == '-' && at + 1 < text.size() &&
                       (text[at + 1] == '[' || HexValue(text[at + 1]) >= 0);
    if (text[at] == '>' && !arrow && --depth == 0) return at + 1;
  }
  return kNpos;
}

// Calls visit(offset, depth) for each character outside strings and annotations until it returns
// false.
template <typename Visit>
void ScanStructure(std::string_view text, Visit visit) {
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = SkipQuoted(text, at);
      continue;
    }
    if (c == '<' && OpensAnnotation(text, at)) {
      at = SkipAnnotation(text, at);
      continue;
    }
    if (!visit(at, depth)) return;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    ++at;
  }
}

char SimpleEscape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'v':
      return '\v';
    case 'f':
      return '\f';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'e':
      return '\033';
    default:
      return c;
  }
}

std::string Unescape(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      bytes.push_back(text[at]);
      continue;
    }
    ++at;
    int value = 0;
    if (IsOctal(text[at])) {
      for (int digits = 0; digits < 3 && at < text.size() && IsOctal(text[at]); ++digits, ++at) {
        value = value * 8 + (text[at] - '0');
      }
      --at;
      bytes.push_back(static_cast<char>(value));
    } else if (text[at] == 'x') {
      for (int digits = 0; digits < 2 && at + 1 < text.size() && HexValue(text[at + 1]) >= 0;
           ++digits) {
        value = value * 16 + HexValue(text[++at]);
      }
      bytes.push_back(static_cast<char>(value));
    } else {
      bytes.push_back(SimpleEscape(text[at]));
    }
  }
  return bytes;
}

struct ErrorName {
  std::string_view name;
  int error;
};
constexpr auto kErrorNames = std::to_array<ErrorName>({
    {"EACCES", EACCES},
    {"EAGAIN", EAGAIN},
    {"EBADF", EBADF},
    {"EBUSY", EBUSY},
    {"EEXIST", EEXIST},
    {"EFAULT", EFAULT},
    {"EINTR", EINTR},
    {"EINVAL", EINVAL},
    {"EIO", EIO},
    {"EISDIR", EISDIR},
    {"ELOOP", ELOOP},
    {"EMFILE", EMFILE},
    {"EMLINK", EMLINK},
    {"ENAMETOOLONG", ENAMETOOLONG},
    {"ENFILE", ENFILE},
    {"ENODEV", ENODEV},
    {"ENOENT", ENOENT},
    {"ENOMEM", ENOMEM},
    {"ENOSPC", ENOSPC},
    {"ENOSYS", ENOSYS},
    {"ENOTDIR", ENOTDIR},
    {"ENOTEMPTY", ENOTEMPTY},
    {"ENXIO", ENXIO},
    {"EPERM", EPERM},
    {"EROFS", EROFS},
    {"ESTALE", ESTALE},
    {"ETXTBSY", ETXTBSY},
    {"EXDEV", EXDEV},
    {"EOVERFLOW", EOVERFLOW},
});

int ErrorOfName(std::string_view name) {
  const auto found = std::ranges::find(kErrorNames, name, &ErrorName::name);
  return found == kErrorNames.end() ? -1 : found->error;
}

// The text of field `name` in a printed structure, without the "name=".
std::optional<std::string_view> Field(std::string_view structure, std::string_view name) {
  for (size_t at = structure.find(name); at != kNpos; at = structure.find(name, at + 1)) {
    const bool begins = at > 0 && (structure[at - 1] == '{' || structure[at - 1] == ' ');
    const std::string_view rest = structure.substr(at + name.size());
    if (begins && rest.starts_with("=")) return rest.substr(1, rest.find_first_of(",}") - 1);
  }
  return std::nullopt;
}

std::optional<uint64_t> Number(std::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

constexpr auto kTypeNames = std::to_array<std::pair<std::string_view, uint32_t>>({
    {"S_IFREG", S_IFREG},
    {"S_IFDIR", S_IFDIR},
    {"S_IFLNK", S_IFLNK},
    {"S_IFCHR", S_IFCHR},
    {"S_IFBLK", S_IFBLK},
    {"S_IFIFO", S_IFIFO},
    {"S_IFSOCK", S_IFSOCK},
    {"S_ISUID", S_ISUID},
    {"S_ISGID", S_ISGID},
    {"S_ISVTX", S_ISVTX},
});

// S_IFREG|S_ISUID|0755
std::optional<uint32_t> ParseMode(std::string_view text) {
  uint32_t mode = 0;
  while (!text.empty()) {
    const size_t bar = std::min(text.find('|'), text.size());
    const std::string_view word = text.substr(0, bar);
    const auto named =
        std::ranges::find(kTypeNames, word, &decltype(kTypeNames)::value_type::first);
    if (named != kTypeNames.end()) {
      mode |= named->second;
    } else if (const auto bits = Number(word, 8)) {
      mode |= static_cast<uint32_t>(*bits);
    } else {
      return std::nullopt;
    }
    text.remove_prefix(std::min(bar + 1, text.size()));
  }
  return mode;
}

// makedev(0x1, 0x3); a comma ended the field early, so this looks for itself.
void ParseDevice(std::string_view structure, RecordedAttributes& attributes) {
  const size_t at = structure.find("rdev=makedev(0x");
  if (at == kNpos) return;
  const std::string_view major = structure.substr(at + 15);
  const size_t comma = major.find(", 0x");
  if (comma == kNpos) return;
  attributes.rdev_major = static_cast<uint32_t>(Number(major, 16).value_or(0));
  attributes.rdev_minor = static_cast<uint32_t>(Number(major.substr(comma + 4), 16).value_or(0));
}

}  // namespace

size_t FindArgumentsEnd(std::string_view text) {
  size_t end = kNpos;
  ScanStructure(text, [&](size_t at, int depth) {
    if (text[at] != ')' || depth != 0) return true;
    end = at;
    return false;
  });
  return end;
}

std::vector<std::string_view> SplitArguments(std::string_view arguments) {
  std::vector<std::string_view> split;
  size_t begin = 0;
  ScanStructure(arguments, [&](size_t at, int depth) {
    if (arguments[at] == ',' && depth == 0) {
      split.push_back(Trim(arguments.substr(begin, at - begin)));
      begin = at + 1;
    }
    return true;
  });
  const std::string_view last = Trim(arguments.substr(begin));
  if (!last.empty() || !split.empty()) split.push_back(last);
  return split;
}

std::optional<QuotedText> ParseQuoted(std::string_view argument) {
  if (!argument.starts_with('"')) return std::nullopt;
  const size_t end = SkipQuoted(argument, 0);
  if (end == kNpos) return std::nullopt;
  return QuotedText{.bytes = Unescape(argument.substr(1, end - 2)),
                    .cut_short = argument.substr(end).starts_with("...")};
}

std::optional<Descriptor> ParseDescriptor(std::string_view argument) {
  Descriptor descriptor;
  size_t number_end = 0;
  if (argument.starts_with("AT_FDCWD")) {
    descriptor.working_directory = true;
    number_end = 8;
  } else {
    if (argument.starts_with('-')) number_end = 1;
    while (number_end < argument.size() && IsDigit(argument[number_end])) ++number_end;
    if (number_end == 0) return std::nullopt;
  }
  if (number_end == argument.size()) return descriptor;
  if (argument[number_end] != '<') return std::nullopt;  // an address
  const size_t end = SkipAnnotation(argument, number_end);
  if (end == kNpos) return descriptor;
  std::string_view inside = argument.substr(number_end + 1, end - number_end - 2);
  inside = inside.substr(0, inside.find('<'));  // -yy: </dev/null<char 1:3>>
  descriptor.annotated = true;
  const bool deleted =
      argument.substr(end).starts_with("(deleted)") || inside.ends_with(" (deleted)");
  descriptor.has_path = inside.starts_with('/') && !deleted;
  if (descriptor.has_path) descriptor.path = Unescape(inside);
  if (descriptor.path.contains('\0')) descriptor.has_path = false;  // no path holds it
  return descriptor;
}

CallResult ParseResult(std::string_view result) {
  CallResult parsed;
  const auto [end, error] =
      std::from_chars(result.data(), result.data() + result.size(), parsed.value);
  if (error != std::errc{}) return parsed;
  parsed.known = true;
  const std::string_view rest = result.substr(static_cast<size_t>(end - result.data()));
  if (parsed.value == -1 && rest.starts_with(" E")) {
    parsed.error = ErrorOfName(rest.substr(1, rest.find(' ', 1) - 1));
  } else if (rest.starts_with('<')) {
    parsed.descriptor = ParseDescriptor(result);
  }
  return parsed;
}

std::optional<RecordedAttributes> ParseAttributes(std::string_view argument) {
  if (!argument.starts_with('{')) return std::nullopt;
  RecordedAttributes attributes;
  auto mode = Field(argument, "st_mode");
  if (!mode) mode = Field(argument, "stx_mode");
  const auto bits = mode ? ParseMode(*mode) : std::nullopt;
  if (!bits) return std::nullopt;
  attributes.mode = *bits;
  auto size = Field(argument, "st_size");
  if (!size) size = Field(argument, "stx_size");
  if (size) attributes.size_bytes = Number(*size, 10);
  ParseDevice(argument, attributes);
  return attributes;
}

bool HasFlag(std::string_view flags, std::string_view name) {
  while (!flags.empty()) {
    const size_t bar = std::min(flags.find('|'), flags.size());
    if (flags.substr(0, bar) == name) return true;
    flags.remove_prefix(std::min(bar + 1, flags.size()));
  }
  return false;
}

}  // namespace nfswalk::bench
