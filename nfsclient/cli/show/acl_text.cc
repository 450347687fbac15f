#include "nfsclient/cli/show/acl_text.h"

#include <system_error>

#include "nfsclient/nfs4/acl.h"

namespace nfswalk::cli {

Result<std::optional<AclText>> ReadAclText(const Node& node, std::string_view path,
                                           const Credential& credential, ResolveFlags flags) {
  const auto bytes = node.GetXattr(path, "system.nfs4_acl", credential, flags);
  if (!bytes && bytes.error() == std::errc::operation_not_supported) return std::nullopt;
  if (!bytes) return std::unexpected(bytes.error());
  const auto acl = protocol::ReadAcl(*bytes);
  if (!acl) return std::unexpected(std::errc::io_error);
  AclText text{.entries = {}, .is_as_mode = protocol::IsAsMode(*acl)};
  for (const protocol::Ace& ace : *acl) text.entries.push_back(protocol::AceText(ace));
  return text;
}

}  // namespace nfswalk::cli
