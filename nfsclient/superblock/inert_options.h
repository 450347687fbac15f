// inert_options: options of nfs(5) that change nothing here. Those that ask for what this client
// does anyway are accepted, so that lines of fstab and of /proc/mounts can be copied; those that
// ask for anything else are refused, with what to do instead. docs/mount_options.md has all of
// nfs(5).
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_INERT_OPTIONS_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_INERT_OPTIONS_H_

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::nfs {

// Checks "name" or "name=value". nullopt: it is not one of these options. The error is a sentence
// that names the option and what to do.
std::optional<std::expected<void, std::string>> CheckInertOption(std::string_view option);

// Names of those that can be accepted.
std::vector<std::string_view> AcceptedInertOptions();

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_INERT_OPTIONS_H_
