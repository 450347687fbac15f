#include "nfsclient/cli/tree_command.h"

#include <fmt/format.h>

#include <cstddef>
#include <expected>
#include <string>

#include "nfsclient/cli/options.h"
#include "nfsclient/cli/verbatim.h"

namespace nfswalk::cli {
namespace {

constexpr size_t kScanObjects = 50'000;

std::expected<unsigned, std::string> ParseThreads(const std::string& text) {
  const auto number = ParseNumber(text);
  if (!number || *number < 1 || *number > TreeOptions::kThreadsMax) {
    return std::unexpected(
        fmt::format("'{}': accepted is a number from 1 to {}", text, TreeOptions::kThreadsMax));
  }
  return *number;
}

}  // namespace

void DeclareThreads(CLI::App& command, TreeOptions& options) {
  AddValue(command, "--threads", options.threads,
           fmt::format("list directories with so many threads ({})", options.threads), ParseThreads)
      ->type_name("NUMBER");
}

void LimitCaches(MountOptions& mount) {
  const MountOptions defaults;
  const auto limit = [](size_t& value, size_t usual) {
    if (value == usual) value = kScanObjects;
  };
  limit(mount.dentries_max, defaults.dentries_max);
  limit(mount.inodes_max, defaults.inodes_max);
  limit(mount.access_entries_max, defaults.access_entries_max);
}

}  // namespace nfswalk::cli
