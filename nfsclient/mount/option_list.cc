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
constexpr std::string_view kFstab[] = {"defaults", "auto",   "noauto",   "user",
                                       "nouser",   "users",  "owner",    "group",
                                       "_netdev",  "nofail", "comment=", "x-"};

bool IsAmong(std::span<const std::string_view> names, std::string_view option) {
  return std::ranges::any_of(names, [&](std::string_view name) {
    return name.ends_with('=') || name == "x-" ? option.starts_with(name) : option == name;
  });
}

}  // namespace

void AddOptions(OptionList& list, std::string_view options) {
  for (const auto part : std::views::split(options, ',')) {
    const std::string_view option(part.begin(), part.end());
    if (option.empty() || IsAmong(kFstab, option)) continue;
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

}  // namespace nfswalk::mount
