#include "nfsclient/rpc/lost_reply.h"

#include <atomic>
#include <cstdlib>

namespace nfswalk::protocol {

bool MayLookUp(LookedUp when, const std::optional<KnownObject>& known) {
  return when == LookedUp::kAfterError || (known && known->is_valid);
}

bool IsInconclusive(LookedUp when, const LookupReply& found,
                    const std::optional<KnownObject>& known) {
  if (found.error != kOk) return when == LookedUp::kBeforeRepetition;
  return !known || found.handle == known->handle;
}

uint64_t NewExclusiveVerifier() {
  static std::atomic<uint64_t> next = uint64_t{arc4random()} << 32 | arc4random();
  return next.fetch_add(0x9e3779b97f4a7c15u);
}

}  // namespace nfswalk::protocol
