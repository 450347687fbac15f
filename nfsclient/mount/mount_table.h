// mount_table: what the kernel shows of a mount, compared with what was asked for.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_MOUNT_TABLE_H_
#define NFSWALK_NFSCLIENT_MOUNT_MOUNT_TABLE_H_

#include <expected>
#include <istream>
#include <span>
#include <string>
#include <string_view>

namespace nfswalk::mount {

// Returns the line of /proc/self/mountinfo (proc(5)) whose file system has this device; "" without
// one.
std::string FindMount(std::istream& table, unsigned device_major, unsigned device_minor);

// Returns the source of the mount on `directory`, of several the one on top, without the escapes of
// the table; "" without one.
std::string SourceMountedOn(std::istream& table, std::string_view directory);

// Compares the line of a FUSE file system with libfuse's options, of which the last one counts. The
// error says what differs: allow_other, which never comes without default_permissions; nosuid,
// nodev, noexec or ro that is not there.
std::expected<void, std::string> CheckMount(std::string_view line,
                                            std::span<const std::string> options);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_MOUNT_TABLE_H_
