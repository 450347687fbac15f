#include "nfsclient/rpc/lost_reply.h"

#include <atomic>
#include <cstdlib>

namespace nfswalk::protocol {

std::errc CheckCreated(const LookupReply& found, FileType type, const SetAttributes& requested,
                       const Credential& credential) {
  const bool ours =
      found.attributes && LooksNewlyCreated(*found.attributes, type, requested, credential);
  return ours ? kOk : std::errc::file_exists;
}

std::errc CheckCreatedNode(const LookupReply& found, FileType type, Device device,
                           const SetAttributes& requested, const Credential& credential) {
  const std::errc fresh = CheckCreated(found, type, requested, credential);
  if (fresh != kOk) return fresh;
  const bool same =
      found.attributes->rdev_major == device.major && found.attributes->rdev_minor == device.minor;
  return same ? kOk : std::errc::file_exists;
}

std::optional<RemoveReply> OutcomeOfRemove(const LookupReply& found) {
  if (found.error == kOk) return std::nullopt;
  RemoveReply reply;
  reply.directory.after = found.directory;
  if (found.error != std::errc::no_such_file_or_directory) reply.error = found.error;
  return reply;
}

std::optional<LinkReply> OutcomeOfLink(const LookupReply& found, const FileHandle& file) {
  LinkReply reply;
  if (found.error == std::errc::no_such_file_or_directory) return std::nullopt;
  reply.error = found.error;
  if (found.error == kOk && found.handle != file) reply.error = std::errc::file_exists;
  if (reply.error != kOk) return reply;
  reply.attributes = found.attributes;
  reply.directory.after = found.directory;
  return reply;
}

uint64_t NewExclusiveVerifier() {
  static std::atomic<uint64_t> next = uint64_t{arc4random()} << 32 | arc4random();
  return next.fetch_add(0x9e3779b97f4a7c15u);
}

}  // namespace nfswalk::protocol
