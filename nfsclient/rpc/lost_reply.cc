#include "nfsclient/rpc/lost_reply.h"

#include <atomic>
#include <cstdlib>

namespace nfswalk::protocol {

std::optional<RemoveReply> OutcomeOfRemove(const LookupReply& found) {
  if (found.error == kOk) return std::nullopt;
  RemoveReply reply;
  reply.directory.after = found.directory;
  if (found.error != std::errc::no_such_file_or_directory) reply.error = found.error;
  return reply;
}

uint64_t NewExclusiveVerifier() {
  static std::atomic<uint64_t> next = uint64_t{arc4random()} << 32 | arc4random();
  return next.fetch_add(0x9e3779b97f4a7c15u);
}

}  // namespace nfswalk::protocol
