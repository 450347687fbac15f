#include "nfsclient/mount/option_list.h"

#include <algorithm>
#include <ranges>
#include <span>

namespace nfswalk::mount {
namespace {

// mount.fuse3(8) and mount(8). With a value where they end with '='.
constexpr std::string_view kFuse[] = {
    "debug",    "allow_other", "auto_unmount", "default_permissions", "fsname=",
    "subtype=", "ro",          "rw",           "suid",                "nosuid",
    "dev",      "nodev",       "exec",         "noexec",              "atime",
    "noatime",  "dirsync"};
constexpr std::string_view kFstab[] = {
    "defaults", "auto", "noauto", "user",     "nouser", "users", "owner",
    "group",    "_netdev", "nofail", "comment=", "x-",     "X-"};
// Times are the server's, and so is what it counts as a change.
constexpr std::string_view kWithoutEffect[] = {
    "relatime",  "norelatime", "strictatime", "nostrictatime", "diratime",  "nodiratime",
    "lazytime",  "nolazytime", "iversion",    "noiversion",    "nomand",    "silent",
    "loud"};

struct Refusal {
  std::string_view name;
  std::string_view instead;
};
constexpr Refusal kRefused[] = {
    {"allow_root", "the kernel's caches answer users that libfuse would refuse; accepted is "
                   "allow_other, with which each process has its own rights"},
    {"remount", "a mount keeps its options: unmount it, and mount it anew"},
    {"mand", "there are no mandatory locks: leave it out"},
    {"nosymfollow", "libfuse does not pass it to the kernel: leave it out"},
    {"context=", "libfuse does not pass labels to the kernel: leave it out"},
    {"fscontext=", "libfuse does not pass labels to the kernel: leave it out"},
    {"defcontext=", "libfuse does not pass labels to the kernel: leave it out"},
    {"rootcontext=", "libfuse does not pass labels to the kernel: leave it out"},
};

bool Matches(std::string_view name, std::string_view option) {
  const bool is_prefix = name.ends_with('=') || name.ends_with('-');
  return is_prefix ? option.starts_with(name) : option == name;
}

bool IsAmong(std::span<const std::string_view> names, std::string_view option) {
  return std::ranges::any_of(names, [&](std::string_view name) { return Matches(name, option); });
}

}  // namespace

void AddOptions(OptionList& list, std::string_view options) {
  for (const auto part : std::views::split(options, ',')) {
    const std::string_view option(part.begin(), part.end());
    if (option.empty() || IsAmong(kFstab, option) || IsAmong(kWithoutEffect, option)) continue;
    if (option == "nonempty") {
      list.nonempty = true;
    } else if (IsAmong(kFuse, option)) {
      list.fuse.emplace_back(option);
      list.others = list.others || option == "allow_other";
    } else {
      list.client.emplace_back(option);
    }
  }
}

std::string_view RefusedMountOption(std::string_view option) {
  for (const auto& [name, instead] : kRefused) {
    if (Matches(name, option)) return instead;
  }
  return {};
}

std::string MountOnlyNames() {
  std::string names = "nonempty";
  const auto append = [&names](std::span<const std::string_view> more) {
    for (const std::string_view name : more) names.append(", ").append(name);
  };
  append(kFuse);
  append(kFstab);
  append(kWithoutEffect);
  return names;
}

}  // namespace nfswalk::mount
