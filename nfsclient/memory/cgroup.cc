#include "nfsclient/memory/cgroup.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "nfsclient/memory/kernel_file.h"

namespace nfswalk::nfs {
namespace {

// The line "0::/path" of /proc/self/cgroup; empty if there is none, or if the cgroup lies outside
// of the process's cgroup namespace ("/../path").
std::string PathInHierarchy(const std::string& root) {
  const std::string text = ReadKernelFile(root + "/proc/self/cgroup");
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = TakeUntil(rest, '\n');
    if (!line.starts_with("0::/")) continue;
    return std::string(line.starts_with("0::/..") ? "" : line.substr(3));
  }
  return {};
}

// proc_pid_mountinfo(5) writes space, tab, newline and backslash as three octal digits.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      plain += text[i];
      continue;
    }
    plain +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
    i += 3;
  }
  return plain;
}

struct CgroupMount {
  std::string shown;  // the cgroup at the mount point; "" for that of the hierarchy's root
  std::string mount_point;
};

// A line of mountinfo; the mount point is empty if it is not that of a cgroup2.
CgroupMount ParseMount(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) fields.push_back(TakeUntil(line, ' '));
  const auto separator = std::ranges::find(fields, "-");
  if (separator - fields.begin() < 6 || fields.end() - separator < 2) return {};
  if (separator[1] != "cgroup2") return {};
  const std::string shown = Unescape(fields[3]);
  return {.shown = shown == "/" ? "" : shown, .mount_point = Unescape(fields[4])};
}

std::optional<uint64_t> ReadBytes(const std::string& file) {
  const std::string whole = ReadKernelFile(file);
  std::string_view rest = whole;
  const std::string_view text = TakeUntil(rest, '\n');
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return bytes;
}

bool IsAtOrBelow(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace

std::vector<std::string> OwnCgroups(const std::string& root) {
  std::vector<std::string> directories;
  const std::string path = PathInHierarchy(root);
  if (path.empty()) return directories;
  const std::string mounts = ReadKernelFile(root + "/proc/self/mountinfo");
  for (std::string_view rest = mounts; !rest.empty();) {
    const CgroupMount mount = ParseMount(TakeUntil(rest, '\n'));
    if (mount.mount_point.empty() || !IsAtOrBelow(path, mount.shown)) continue;
    std::string below = path.substr(mount.shown.size());
    if (below == "/") below.clear();
    for (;;) {
      directories.push_back(root + mount.mount_point + below);
      if (below.empty()) return directories;
      below.resize(below.rfind('/'));
    }
  }
  return directories;
}

std::optional<uint64_t> MemoryLimitOf(const std::string& cgroup) {
  const auto max = ReadBytes(cgroup + "/memory.max");
  const auto high = ReadBytes(cgroup + "/memory.high");
  return max && high ? std::min(max, high) : max ? max : high;
}

}  // namespace nfswalk::nfs
