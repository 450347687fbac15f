#include "nfsclient/nfs/stats.h"

namespace nfswalk::nfs {

std::string_view NeedRefName(NeedRef reason) {
  switch (reason) {
    case NeedRef::kNone:
      return "none";
    case NeedRef::kLookupRpc:
      return "lookup_rpc";
    case NeedRef::kGetattrRpc:
      return "getattr_rpc";
    case NeedRef::kAccessRpc:
      return "access_rpc";
    case NeedRef::kReadlinkRpc:
      return "readlink_rpc";
    case NeedRef::kAllocation:
      return "allocation";
    case NeedRef::kChanged:
      return "changed";
    case NeedRef::kMiss:
      return "miss";
    case NeedRef::kRefMode:
      return "ref_mode";
    case NeedRef::kComplete:
      return "complete";
  }
  return "unknown";
}

}  // namespace nfswalk::nfs
