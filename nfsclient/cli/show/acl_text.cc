#include "nfsclient/cli/show/acl_text.h"

#include <system_error>
#include <utility>

#include "nfsclient/nfs4/acl.h"
#include "nfsclient/protocol/posix_acl.h"

namespace nfswalk::cli {
namespace {

using Value = Result<std::optional<std::string>>;

// nullopt: there is none.
Value ReadValue(const Node& node, std::string_view path, const char* name,
                const Credential& credential, ResolveFlags flags) {
  auto value = node.GetXattr(path, name, credential, flags);
  if (value) return std::optional(*std::move(value));
  const bool is_absent = value.error() == std::errc::operation_not_supported ||
                         value.error() == std::errc::no_message_available;
  if (is_absent) return std::nullopt;
  return std::unexpected(value.error());
}

// Adds the entries. Returns whether the bytes are an ACL.
bool AddNfs4(std::string_view bytes, AclText& text) {
  const auto acl = protocol::ReadAcl(bytes);
  if (!acl) return false;
  text.is_as_mode = protocol::IsAsMode(*acl);
  for (const protocol::Ace& ace : *acl) text.entries.push_back(protocol::AceText(ace));
  return true;
}

bool AddPosix(std::string_view bytes, const char* prefix, AclText& text) {
  const auto acl = protocol::ReadPosixAcl(bytes);
  if (!acl) return false;
  for (const protocol::PosixAce& ace : *acl)
    text.entries.push_back(prefix + protocol::AceText(ace));
  return true;
}

}  // namespace

Result<std::optional<AclText>> ReadAclText(const Node& node, std::string_view path,
                                           const Credential& credential, ResolveFlags flags) {
  AclText text;
  const Value nfs4 = ReadValue(node, path, "system.nfs4_acl", credential, flags);
  if (!nfs4) return std::unexpected(nfs4.error());
  if (*nfs4) {
    if (!AddNfs4(**nfs4, text)) return std::unexpected(std::errc::io_error);
    return text;
  }
  constexpr std::pair<const char*, const char*> kPosix[] = {
      {"system.posix_acl_access", ""}, {"system.posix_acl_default", "default:"}};
  for (const auto& [name, prefix] : kPosix) {
    const Value value = ReadValue(node, path, name, credential, flags);
    if (!value) return std::unexpected(value.error());
    if (*value && !AddPosix(**value, prefix, text)) return std::unexpected(std::errc::io_error);
  }
  if (text.entries.empty()) return std::nullopt;
  return text;
}

}  // namespace nfswalk::cli
