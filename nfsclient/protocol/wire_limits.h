// wire_limits: limits of calls and replies, for both protocol versions.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_WIRE_LIMITS_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_WIRE_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace nfswalk::protocol {

inline constexpr size_t kNameBytesMax = 255;
// xattr(7): of a value, and of all names of a file.
inline constexpr size_t kXattrValueBytesMax = 64 * 1024;
inline constexpr size_t kXattrNamesBytesMax = 64 * 1024;
inline constexpr size_t kLinkBytesMax = 4096;
// Data of one READ or WRITE (WIRE-10).
inline constexpr uint32_t kTransferBytesMax = 1024 * 1024;

// Checks a component name. Errors: filename_too_long above 255 bytes, invalid_argument if it is
// empty or contains '/' or NUL.
inline std::errc CheckName(std::string_view name) {
  if (name.size() > kNameBytesMax) return std::errc::filename_too_long;
  constexpr std::string_view kNotInNames("/\0", 2);
  const bool fit = !name.empty() && name.find_first_of(kNotInNames) == name.npos;
  return fit ? std::errc{} : std::errc::invalid_argument;
}
// Checks the text of a symbolic link. Errors: filename_too_long above kLinkBytesMax,
// no_such_file_or_directory if empty, invalid_argument if it contains NUL.
inline std::errc CheckLinkText(std::string_view text) {
  if (text.size() > kLinkBytesMax) return std::errc::filename_too_long;
  if (text.empty()) return std::errc::no_such_file_or_directory;
  return text.find('\0') == text.npos ? std::errc{} : std::errc::invalid_argument;
}

// Returns an empty reply with `error`.
template <typename Reply>
Reply Failure(std::errc error) {
  Reply reply;
  reply.error = error;
  return reply;
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_WIRE_LIMITS_H_
