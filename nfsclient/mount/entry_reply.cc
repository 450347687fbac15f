#include "nfsclient/mount/entry_reply.h"

namespace nfswalk::mount {

std::errc ReplyLookup(const Try& attempt, NodeNumber parent, const std::string& name) {
  return ReplyEntry(attempt, parent, name, [&] {
    return attempt.file_system.nodes.At(parent).Lookup(name, attempt.credential, attempt.flags);
  });
}

}  // namespace nfswalk::mount
