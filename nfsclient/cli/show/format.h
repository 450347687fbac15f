// format: attributes as people and programs like to read them.
//
// Thread safety: pure functions, but for the time zone of the process (tzset(3)).
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_FORMAT_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_FORMAT_H_

#include <string>
#include <string_view>
#include <system_error>

#include "nfsclient/cli/show/json_object.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

// "regular file", "directory", ... as stat(1) says.
std::string_view TypeName(protocol::FileType type);
// TypeName() as stat(1) has it: "regular empty file" for a file without a byte.
std::string_view TypeNameOf(const Attributes& attributes);
bool IsDevice(protocol::FileType type);
// One letter as in `find -type`: f, d, l, b, c, p, s.
char TypeLetter(protocol::FileType type);
// "drwxr-xr-x", setuid, setgid and sticky bits included.
std::string ModeString(const Attributes& attributes);

// "2026-01-31 13:59:00.000000001 +0100", in the process' time zone.
std::string LocalTime(const protocol::Time& time);
// "2026-01-31 13:59".
std::string LocalMinute(const protocol::Time& time);
// "2026-01-31T12:59:00.000000001Z".
std::string UtcTime(const protocol::Time& time);

// {"path": ...}. JSON has no bytes: where the path is not UTF-8, what does not fit reads as U+FFFD
// and a key "path_base64" holds the bytes. The same for other keys.
JsonObject PathJson(std::string_view path);
void AddBytes(JsonObject& object, const std::string& key, std::string_view bytes);
// The keys type, mode (octal string), nlink, uid, gid, size_bytes, used_bytes, rdev_major,
// rdev_minor, fsid, fileid, atime, mtime, ctime (UTC).
void AddAttributes(JsonObject& object, const Attributes& attributes);
// {"error": {"name": "ENOENT", "number": 2, "message": "No such file or directory"}}.
void AddError(JsonObject& object, std::errc error);
// One line, with its newline.
std::string JsonLine(const JsonObject& object);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_FORMAT_H_
