// promises: what protocol.h, nfs3_decode.h and nfs4_decode.h say of values that came from a server.
//
// Each function names the first promise that is not kept, or is empty.
#ifndef NFSWALK_TESTS_FUZZ_NFSCLIENT_PROTOCOL_PROMISES_H_
#define NFSWALK_TESTS_FUZZ_NFSCLIENT_PROTOCOL_PROMISES_H_

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {

using Broken = std::string_view;

inline Broken FirstOf(std::initializer_list<Broken> promises) {
  for (const Broken broken : promises) {
    if (!broken.empty()) return broken;
  }
  return {};
}

inline Broken BrokenBy(const Time& time) {
  return time.nanoseconds < 1'000'000'000 ? "" : "nanoseconds below 10^9";
}

inline bool IsKnown(FileType type) {
  switch (type) {
    case FileType::kFifo:
    case FileType::kCharacterDevice:
    case FileType::kDirectory:
    case FileType::kBlockDevice:
    case FileType::kRegular:
    case FileType::kSymlink:
    case FileType::kSocket:
      return true;
  }
  return false;
}

inline Broken BrokenBy(const Attributes& a) {
  if (!IsKnown(a.type)) return "a known type";
  if (a.mode > 07777) return "twelve permission bits";
  return FirstOf({BrokenBy(a.atime), BrokenBy(a.mtime), BrokenBy(a.ctime)});
}

inline Broken BrokenBy(const FileHandle& handle, size_t bytes_max) {
  return handle.size() >= 1 && handle.size() <= bytes_max ? "" : "the size of a handle";
}

inline Broken BrokenByName(std::string_view name) {
  return CheckName(name) == std::errc{} ? "" : "a name that a directory can hold";
}

inline Broken BrokenByLinkText(std::string_view text) {
  const bool kept = !text.empty() && text.size() <= kLinkBytesMax && text.find('\0') == text.npos;
  return kept ? "" : "a link text";
}

inline Broken BrokenBy(const OptionalAttributes& attributes) {
  return attributes ? BrokenBy(*attributes) : Broken();
}

inline Broken BrokenBy(const WeakCacheConsistency& wcc) {
  const Broken before =
      wcc.before ? FirstOf({BrokenBy(wcc.before->mtime), BrokenBy(wcc.before->ctime)}) : Broken();
  return FirstOf({before, BrokenBy(wcc.after)});
}

inline Broken BrokenBy(const DirectoryEntry& entry, size_t handle_bytes_max) {
  return FirstOf({BrokenByName(entry.name), BrokenBy(entry.attributes),
                  entry.handle ? BrokenBy(*entry.handle, handle_bytes_max) : Broken()});
}

// Of a listing that was asked for from `asked` on.
inline Broken BrokenBy(const ReadDirReply& reply, ReadDirPosition asked, size_t handle_bytes_max) {
  if (reply.error != kOk) return reply.entries.empty() ? "" : "no entries of what failed";
  for (const DirectoryEntry& entry : reply.entries) {
    if (const Broken broken = BrokenBy(entry, handle_bytes_max); !broken.empty()) return broken;
  }
  const bool ends =
      reply.eof || (!reply.entries.empty() && reply.entries.back().cookie != asked.cookie);
  return ends ? BrokenBy(reply.directory) : "a listing that comes to an end";
}

inline Broken BrokenByGranted(uint32_t granted) {
  return (granted & ~kAccessAll) == 0 ? "" : "rights that were asked for";
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_FUZZ_NFSCLIENT_PROTOCOL_PROMISES_H_
