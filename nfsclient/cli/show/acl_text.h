// acl_text: the ACL of a file as `stat` and `ls` show it.
//
// Thread safety: any thread, but for what it is read of.
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_ACL_TEXT_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_ACL_TEXT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk::cli {

struct AclText {
  // As nfs4_getfacl(1) prints them, or for version 3 getfacl(1); names are the server's bytes.
  std::vector<std::string> entries;
  bool is_as_mode = false;           // the mode of the file says as much
};

// Reads that of what `path` leads to from `node`: none where it, or its file system, has none.
// Errors: GetXattr()'s.
Result<std::optional<AclText>> ReadAclText(const Node& node, std::string_view path,
                                           const Credential& credential, ResolveFlags flags);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_ACL_TEXT_H_
