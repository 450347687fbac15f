#include "nfsclient/mount/mount_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <ranges>
#include <utility>

namespace nfswalk::mount {
namespace {

// An option that the kernel shows where libfuse was given `name` after any `contrary`, or neither
// and it is the default.
struct Restriction {
  std::string_view name;
  std::string_view contrary;
  bool is_default;
};
constexpr Restriction kRestrictions[] = {{"nosuid", "suid", true},
                                         {"nodev", "dev", true},
                                         {"noexec", "exec", false},
                                         {"ro", "rw", false}};
// The kernel shows these with the file system, those above with the mount.
constexpr std::string_view kAccess[] = {"allow_other", "default_permissions"};

// The place of the options of the mount in a line; those of the file system are its last field.
constexpr size_t kMountOptions = 5;
constexpr size_t kDevice = 2;
constexpr size_t kMountPoint = 4;
// After " - ", which ends the optional fields.
constexpr size_t kSource = 1;

std::string_view FieldOf(std::string_view line, size_t index) {
  for (; index > 0; --index) line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
  return line.substr(0, line.find(' '));
}

// Without the kernel's escapes: a backslash and three octal digits (seq_path(), mangle()).
std::string Unescaped(std::string_view field) {
  std::string text;
  for (size_t i = 0; i < field.size(); ++i) {
    unsigned byte = static_cast<unsigned char>(field[i]);
    if (byte == '\\' && i + 3 < field.size()) {
      std::from_chars(field.data() + i + 1, field.data() + i + 4, byte, 8);
      i += 3;
    }
    text += static_cast<char>(byte);
  }
  return text;
}

bool Includes(std::string_view options, std::string_view name) {
  return std::ranges::any_of(std::views::split(options, ','), [name](const auto& part) {
    return std::string_view(part.begin(), part.end()) == name;
  });
}

bool IsAskedFor(const Restriction& restriction, std::span<const std::string> options) {
  bool asked = restriction.is_default;
  for (const std::string& option : options) {
    if (option == restriction.name) asked = true;
    if (option == restriction.contrary) asked = false;
  }
  return asked;
}

}  // namespace

std::string FindMount(std::istream& table, unsigned device_major, unsigned device_minor) {
  const std::string device = fmt::format("{}:{}", device_major, device_minor);
  for (std::string line; std::getline(table, line);) {
    if (FieldOf(line, kDevice) == device) return line;
  }
  return {};
}

std::string SourceMountedOn(std::istream& table, std::string_view directory) {
  constexpr std::string_view kEndOfOptional = " - ";
  std::string source;
  for (std::string line; std::getline(table, line);) {
    const size_t end = line.find(kEndOfOptional);
    if (end == std::string::npos || Unescaped(FieldOf(line, kMountPoint)) != directory) continue;
    const auto rest = std::string_view(line).substr(end + kEndOfOptional.size());
    source = Unescaped(FieldOf(rest, kSource));
  }
  return source;
}

std::expected<void, std::string> CheckMount(std::string_view line,
                                            std::span<const std::string> options) {
  if (line.empty()) return std::unexpected("the kernel does not show the mount");
  const std::string_view of_mount = FieldOf(line, kMountOptions);
  for (const Restriction& restriction : kRestrictions) {
    // More restrictions than asked for are right: fusermount3(1) adds some for ordinary users.
    if (IsAskedFor(restriction, options) && !Includes(of_mount, restriction.name)) {
      return std::unexpected(fmt::format("the kernel mounts without '{}'", restriction.name));
    }
  }
  const std::string_view of_file_system = line.substr(line.rfind(' ') + 1);
  for (const std::string_view name : kAccess) {
    // allow_other implies default_permissions.
    const bool asked = std::ranges::any_of(options, [name](const std::string& option) {
      return option == name || option == kAccess[0];
    });
    if (Includes(of_file_system, name) != asked) {
      return std::unexpected(
          fmt::format("the kernel mounts with{} '{}'", asked ? "out" : "", name));
    }
  }
  return {};
}

}  // namespace nfswalk::mount
