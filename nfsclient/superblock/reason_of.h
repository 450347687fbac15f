// reason_of: the NeedRef reasons that an RCU hook may answer, as its header lists them. A hook that
// answers another one does not compile.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_REASON_OF_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_REASON_OF_H_

#include "nfsclient/superblock/stats.h"

namespace nfswalk::nfs {

// kNone, or one of `kListed`.
//
// Thread safety: as any value.
template <NeedRef... kListed>
class ReasonOf {
 public:
  static constexpr bool Lists(NeedRef reason) {
    return reason == NeedRef::kNone || ((reason == kListed) || ...);
  }

  // NOLINTNEXTLINE(google-explicit-constructor): stands for the NeedRef that it holds
  consteval ReasonOf(NeedRef reason = NeedRef::kNone) : reason_(reason) {
    if (!Lists(reason)) HeaderDoesNotListThisReason();
  }
  constexpr operator NeedRef() const { return reason_; }  // NOLINT(google-explicit-constructor)

 private:
  static void HeaderDoesNotListThisReason();  // not constexpr, and nowhere defined

  NeedRef reason_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_REASON_OF_H_
