#include "nfsclient/superblock/stats.h"

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

std::string_view PathCallName(PathCall call) {
  switch (call) {
    case PathCall::kStat:
      return "stat";
    case PathCall::kAccess:
      return "access";
    case PathCall::kReadLink:
      return "readlink";
    case PathCall::kResolve:
      return "resolve";
    case PathCall::kOpen:
      return "open";
    case PathCall::kReadDir:
      return "readdir";
    case PathCall::kSetAttributes:
      return "setattr";
    case PathCall::kCreate:
      return "create";
    case PathCall::kLink:
      return "link";
    case PathCall::kRename:
      return "rename";
    case PathCall::kRemove:
      return "remove";
  }
  return "unknown";
}

}  // namespace nfswalk::nfs
