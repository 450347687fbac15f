// reply_invariants: checks decoded replies against protocol.h, nfs3/decode.h and nfs4/decode.h.
//
// Each ViolationIn*() returns the first invariant that does not hold, or "".
#ifndef NFSWALK_TESTS_FUZZ_WIRE_REPLY_INVARIANTS_H_
#define NFSWALK_TESTS_FUZZ_WIRE_REPLY_INVARIANTS_H_

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {

using Violation = std::string_view;

// Arguments of the calls that the samples reply to: the bytes of a READ or WRITE, the position of a
// listing.
inline constexpr size_t kTransferBytes = 100;
inline constexpr ReadDirPosition kRequested{5, 0};

inline Violation FirstOf(std::initializer_list<Violation> invariants) {
  for (const Violation violation : invariants) {
    if (!violation.empty()) return violation;
  }
  return {};
}

inline Violation ViolationIn(const Time& time) {
  return time.nanoseconds < 1'000'000'000 ? "" : "nanoseconds below 10^9";
}

inline Violation ViolationIn(const Attributes& a) {
  constexpr FileType kKnown[] = {
      FileType::kFifo,    FileType::kCharacterDevice, FileType::kDirectory, FileType::kBlockDevice,
      FileType::kRegular, FileType::kSymlink,         FileType::kSocket};
  if (std::ranges::find(kKnown, a.type) == std::end(kKnown)) return "a known type";
  if (a.mode > 07777) return "twelve permission bits";
  return FirstOf({ViolationIn(a.atime), ViolationIn(a.mtime), ViolationIn(a.ctime)});
}

inline Violation ViolationIn(const FileHandle& handle, size_t bytes_max) {
  return handle.size() >= 1 && handle.size() <= bytes_max ? "" : "the size of a handle";
}

inline Violation ViolationInName(std::string_view name) {
  return CheckName(name) == std::errc{} ? "" : "a valid name";
}

inline Violation ViolationInLinkText(std::string_view text) {
  const bool kept = !text.empty() && text.size() <= kLinkBytesMax && text.find('\0') == text.npos;
  return kept ? "" : "a link text";
}

inline Violation ViolationIn(const OptionalAttributes& attributes) {
  return attributes ? ViolationIn(*attributes) : Violation();
}

inline Violation ViolationIn(const WeakCacheConsistency& wcc) {
  return ViolationIn(wcc.after);
}

inline Violation ViolationIn(const DirectoryEntry& entry, size_t handle_bytes_max) {
  return FirstOf({ViolationInName(entry.name), ViolationIn(entry.attributes),
                  entry.handle ? ViolationIn(*entry.handle, handle_bytes_max) : Violation()});
}

inline Violation ViolationIn(const ReadDirReply& reply, ReadDirPosition requested,
                             size_t handle_bytes_max) {
  if (reply.error != kOk) return reply.entries.empty() ? "" : "no entries in a failure";
  for (const DirectoryEntry& entry : reply.entries) {
    if (const Violation violation = ViolationIn(entry, handle_bytes_max); !violation.empty())
      return violation;
  }
  const bool ends =
      reply.eof || (!reply.entries.empty() && reply.entries.back().cookie != requested.cookie);
  return ends ? ViolationIn(reply.directory) : "a listing with progress";
}

inline Violation ViolationInNameLimit(const ServerLimits& limits) {
  const bool kept = limits.name_bytes_max >= 1 && limits.name_bytes_max <= kNameBytesMax;
  return kept ? "" : "the longest name";
}

inline Violation ViolationIn(const ServerLimits& limits) {
  for (const uint32_t bytes :
       {limits.read_bytes_max, limits.write_bytes_max, limits.readdir_bytes_max}) {
    if (bytes < 1024 || bytes > kTransferBytesMax) return "sizes that a record can carry";
  }
  return ViolationInNameLimit(limits);
}

inline Violation ViolationInGranted(uint32_t granted) {
  return (granted & ~kAccessAll) == 0 ? "" : "known rights";
}

inline Violation ViolationIn(const AttributesReply& r) {
  return r.error == kOk ? ViolationIn(r.attributes) : "";
}
inline Violation ViolationIn(const LookupReply& r, size_t handle_bytes_max) {
  return FirstOf({r.error == kOk ? ViolationIn(r.handle, handle_bytes_max)
                                 : Violation(r.handle.empty() ? "" : "no handle in a failure"),
                  ViolationIn(r.attributes), ViolationIn(r.directory)});
}
inline Violation ViolationIn(const LookupPathReply& r, size_t handle_bytes_max) {
  for (const PathStep& step : r.steps) {
    const Violation violation =
        FirstOf({ViolationIn(step.handle, handle_bytes_max), ViolationIn(step.attributes),
                 ViolationInGranted(step.granted.value_or(0))});
    if (!violation.empty()) return violation;
  }
  return FirstOf({ViolationIn(r.directory), ViolationInGranted(r.granted.value_or(0))});
}
inline Violation ViolationIn(const AccessReply& r) {
  return FirstOf({ViolationInGranted(r.granted), ViolationIn(r.attributes)});
}
inline Violation ViolationIn(const ReadLinkReply& r) {
  return FirstOf({r.error == kOk ? ViolationInLinkText(r.target)
                                 : Violation(r.target.empty() ? "" : "no text in a failure"),
                  ViolationIn(r.attributes)});
}
inline Violation ViolationIn(const OpenReply& r) {
  if (r.error != kOk && r.state != nullptr) return "no state in a failure";
  return ViolationIn(r.attributes);
}
inline Violation ViolationIn(const ReadReply& r, size_t requested_bytes) {
  if (r.count_bytes > requested_bytes) return "no more than requested";
  if (r.error != kOk && r.count_bytes != 0) return "no data in a failure";
  if (r.error == kOk && r.count_bytes == 0 && !r.eof) return "progress";
  return ViolationIn(r.attributes);
}
inline Violation ViolationIn(const WriteReply& r, size_t sent_bytes) {
  if (r.count_bytes > sent_bytes) return "no more than was sent";
  if (r.error == kOk && r.count_bytes == 0) return "progress";
  return ViolationIn(r.file);
}
inline Violation ViolationIn(const CreateReply& r, size_t handle_bytes_max) {
  if (r.error != kOk && r.handle) return "no handle in a failure";
  return FirstOf({r.handle ? ViolationIn(*r.handle, handle_bytes_max) : Violation(),
                  ViolationIn(r.attributes), ViolationIn(r.directory)});
}
inline Violation ViolationIn(const LinkReply& r) {
  return FirstOf({ViolationIn(r.attributes), ViolationIn(r.directory)});
}
inline Violation ViolationIn(const RenameReply& r) {
  return FirstOf({ViolationIn(r.from_directory), ViolationIn(r.to_directory)});
}
inline Violation ViolationIn(const RemoveReply& r) { return ViolationIn(r.directory); }
inline Violation ViolationIn(const FileChangeReply& r) { return ViolationIn(r.file); }
inline Violation ViolationIn(const RootReply& r, size_t handle_bytes_max) {
  if (r.error != kOk) return "";
  return FirstOf(
      {ViolationIn(r.handle, handle_bytes_max), ViolationIn(r.attributes), ViolationIn(r.limits)});
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_FUZZ_WIRE_REPLY_INVARIANTS_H_
