#include "nfsclient/mount/mount_point.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "nfsclient/mount/mount_table.h"

namespace nfswalk::mount {
namespace {

constexpr const char* kDevice = "/dev/fuse";
constexpr const char* kHelper = "fusermount3";

std::string Why(int error) { return std::generic_category().message(error); }

// Returns `word` quoted for a shell, without a backslash, which messages show as two.
std::string Quoted(std::string_view word) {
  std::string quoted = "'";
  for (const char byte : word) {
    if (byte == '\'') quoted += "'\"'\"";
    quoted += byte;
  }
  return quoted + '\'';
}

bool IsOnPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    if (access(fmt::format("{}/{}", directory, program).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
  }
  return false;
}

// Says which device or program that mounting needs is missing; empty if none is.
std::string WhatIsMissing() {
  if (access(kDevice, F_OK) != 0) {
    return fmt::format(
        "{}: {}: load the kernel's module with 'modprobe fuse', or give the container the device",
        kDevice, Why(errno));
  }
  if (access(kDevice, R_OK | W_OK) != 0) {
    return fmt::format("{}: {}: its mode is 0666 where users may mount", kDevice, Why(errno));
  }
  // Root mounts by itself.
  if (geteuid() != 0 && !IsOnPath(kHelper)) {
    return fmt::format(
        "{} is not installed, without which only root mounts: install the package fuse3", kHelper);
  }
  return {};
}

}  // namespace

std::expected<std::string, std::string> CheckMountPoint(
    const std::string& directory, const std::function<bool(std::string_view)>& is_source,
    bool nonempty) {
  const auto refuse = [&](std::string_view why) {
    return std::unexpected(fmt::format("'{}': {}", directory, why));
  };
  struct stat stat{};
  if (::stat(directory.c_str(), &stat) != 0) {
    if (errno == ENOTCONN) {
      return refuse(
          fmt::format("a mount whose process has ended: {} -u {} cleans up", kHelper,
                      Quoted(directory)));
    }
    return refuse(Why(errno));
  }
  if (!S_ISDIR(stat.st_mode)) return refuse(Why(ENOTDIR));
  char absolute[PATH_MAX];
  if (realpath(directory.c_str(), absolute) == nullptr) return refuse(Why(errno));
  // Two would be on top of each other, and each unmount take one of them.
  std::ifstream table("/proc/self/mountinfo");
  const std::string mounted = SourceMountedOn(table, absolute);
  if (!mounted.empty() && is_source(mounted)) {
    return refuse(fmt::format("{} is mounted there already: {} -u {} ends that", mounted, kHelper,
                              Quoted(directory)));
  }
  // fusermount3 refuses it too, in other words.
  if (geteuid() != 0 && (stat.st_uid != geteuid() || access(directory.c_str(), W_OK) != 0)) {
    return refuse("not a directory of this user's that it may write, as mounting needs");
  }
  std::error_code error;
  if (!nonempty && !std::filesystem::is_empty(directory, error)) {
    return refuse(error ? Why(error.value())
                        : "not empty: what is in it would be hidden; accepted with '-o nonempty'");
  }
  if (std::string missing = WhatIsMissing(); !missing.empty()) return std::unexpected(missing);
  return absolute;
}

}  // namespace nfswalk::mount
