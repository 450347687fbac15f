#include "nfsclient/nfs/xattr.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/posix_acl.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::nfs {
namespace {

using icache::Inode;
using protocol::AclKind;
using protocol::Attributes;
using sunrpc_auth::Credential;

constexpr std::string_view kUser = "user.";
struct AclName {
  std::string_view name;
  AclKind kind;
};
constexpr AclName kAcls[] = {{"system.nfs4_acl", AclKind::kNfs4},
                             {"system.posix_acl_access", AclKind::kPosixAccess},
                             {"system.posix_acl_default", AclKind::kPosixDefault}};

// Returns which ACL has this name, if any.
std::optional<AclKind> AclOf(std::string_view name) {
  const auto* const found = std::ranges::find(kAcls, name, &AclName::name);
  return found == std::end(kAcls) ? std::nullopt : std::optional(found->kind);
}

// Returns the name as NFS has it.
std::expected<std::string_view, std::errc> NameOnWire(std::string_view name) {
  if (name.empty() || name.size() > protocol::kNameBytesMax) {
    return std::unexpected(std::errc::result_out_of_range);
  }
  if (name.find('\0') != name.npos) return std::unexpected(std::errc::invalid_argument);
  if (!name.starts_with(kUser)) return std::unexpected(std::errc::operation_not_supported);
  name.remove_prefix(kUser.size());
  if (name.empty()) return std::unexpected(std::errc::invalid_argument);
  return name;
}

Attributes AttributesOf(Inode& inode) {
  Attributes attributes;
  CopyAttributes(inode, attributes);
  return attributes;
}

// All others may have none where these have one.
bool IsFileOrDirectory(protocol::FileType type) {
  return type == protocol::FileType::kRegular || type == protocol::FileType::kDirectory;
}

// Whether the mount has ACLs of this kind, as far as is known without asking.
bool HasKind(const Superblock& superblock, AclKind kind) {
  return superblock.protocol->has_acl(kind) && (superblock.options.acl || kind == AclKind::kNfs4);
}

// A link has none where other files have one (Linux's server leaves out the attribute).
bool MayHaveAcl(const Superblock& superblock, AclKind kind, const Attributes& attributes) {
  return HasKind(superblock, kind) && attributes.type != protocol::FileType::kSymlink &&
         !superblock.without_acls.Has(attributes.fsid);
}

// Makes a call of Protocol, unless the file system is in `without`. `tells`: it is put there where
// the call is not supported. One that changes may be refused where what is there can be read.
template <typename Call>
auto Ask(Superblock& superblock, Inode& inode, FileSystemsWithout& without, bool tells, Call call) {
  decltype(call()) reply;
  reply.error = std::errc::operation_not_supported;
  const uint64_t fsid = AttributesOf(inode).fsid;
  if (without.Has(fsid)) return reply;
  reply = call();
  if (tells && reply.error == std::errc::operation_not_supported) without.Add(fsid);
  if (reply.error == protocol::kStale) MarkStale(superblock, inode);
  return reply;
}

// Makes a call that changes the inode's times, by `ask()`. `in_parts`: its error does not say that
// nothing has changed.
template <typename Ask>
std::errc Change(Superblock& superblock, Inode& inode, bool in_parts, Ask ask) {
  const SendStamp stamp = Stamp(superblock);
  const protocol::FileChangeReply reply = ask();
  const bool is_unknown = in_parts && reply.error != protocol::kOk;
  UpdateAfterOwnChange(superblock, inode, reply.file, stamp,
                       is_unknown ? std::errc::timed_out : reply.error);
  return reply.error;
}

// Adds the names of the ACLs that the file has. Asks for them, but for that of version 4 where the
// root's file system, which has told at mount, is that of the file. Errors:
// operation_not_supported where there are no ACLs; of a POSIX one, those of GetXattr().
std::errc AddAcls(Superblock& superblock, Inode& inode, const Credential& credential,
                  std::vector<std::string>& names) {
  const Attributes attributes = AttributesOf(inode);
  const bool is_directory = attributes.type == protocol::FileType::kDirectory;
  const bool is_of_root = attributes.fsid == AttributesOf(*superblock.root.inode()).fsid;
  std::errc error = std::errc::operation_not_supported;
  for (const AclName& acl : kAcls) {
    if (!MayHaveAcl(superblock, acl.kind, attributes)) continue;
    if (acl.kind == AclKind::kPosixDefault && !is_directory) continue;
    bool has = acl.kind == AclKind::kNfs4 && is_of_root;
    if (!has) {
      const auto value = GetXattr(superblock, inode, acl.name, credential);
      if (!value && value.error() == std::errc::operation_not_supported) continue;
      has = value || acl.kind == AclKind::kNfs4;
      if (!has && value.error() != std::errc::no_message_available) return value.error();
    }
    error = std::errc{};
    if (has) names.emplace_back(acl.name);
  }
  return error;
}

}  // namespace

std::expected<std::string, std::errc> GetXattr(Superblock& superblock, Inode& inode,
                                               std::string_view name,
                                               const Credential& credential) {
  protocol::XattrReply reply;
  if (const auto acl = AclOf(name)) {
    if (!HasKind(superblock, *acl)) {
      return std::unexpected(std::errc::operation_not_supported);
    }
    reply = Ask(superblock, inode, superblock.without_acls,
                /*tells=*/acl == AclKind::kNfs4 && IsFileOrDirectory(AttributesOf(inode).type),
                [&] { return superblock.protocol->GetAcl(inode.handle(), *acl, credential); });
  } else {
    const auto sent = NameOnWire(name);
    if (!sent) return std::unexpected(sent.error());
    reply = Ask(superblock, inode, superblock.without_xattrs, /*tells=*/true,
                [&] { return superblock.protocol->GetXattr(inode.handle(), *sent, credential); });
  }
  if (reply.error != protocol::kOk) return std::unexpected(reply.error);
  return std::move(reply.value);
}

std::expected<std::vector<std::string>, std::errc> ListXattrs(Superblock& superblock, Inode& inode,
                                                              const Credential& credential) {
  auto reply = Ask(superblock, inode, superblock.without_xattrs, /*tells=*/true,
                   [&] { return superblock.protocol->ListXattrs(inode.handle(), credential); });
  const bool has_no_others = reply.error == std::errc::operation_not_supported;
  if (reply.error != protocol::kOk && !has_no_others) return std::unexpected(reply.error);
  std::vector<std::string> acls;
  const std::errc error = AddAcls(superblock, inode, credential, acls);
  const bool has_no_acls = error == std::errc::operation_not_supported;
  if (error != std::errc{} && !has_no_acls) return std::unexpected(error);
  if (has_no_others && has_no_acls) return std::unexpected(reply.error);
  // A longer one could not be asked for.
  std::erase_if(reply.names, [](const std::string& name) {
    return kUser.size() + name.size() > protocol::kNameBytesMax;
  });
  for (std::string& name : reply.names) name.insert(0, kUser);
  std::ranges::move(acls, std::back_inserter(reply.names));
  return std::move(reply.names);
}

std::errc SetXattr(Superblock& superblock, Inode& inode, std::string_view name,
                   std::string_view value, protocol::XattrMode how, const Credential& credential) {
  const std::optional<AclKind> acl = AclOf(name);
  if (acl && !HasKind(superblock, *acl)) return std::errc::operation_not_supported;
  const auto sent = acl ? std::expected<std::string_view, std::errc>(name) : NameOnWire(name);
  if (!sent) return sent.error();
  if (how > protocol::XattrMode::kReplace) return std::errc::invalid_argument;
  if (value.size() > protocol::kXattrValueBytesMax) return std::errc::argument_list_too_long;
  const bool in_parts = acl && acl != AclKind::kNfs4;  // SETACL sets two ACLs
  return Change(superblock, inode, in_parts, [&] {
    FileSystemsWithout& without = acl ? superblock.without_acls : superblock.without_xattrs;
    return Ask(superblock, inode, without, /*tells=*/false, [&] {
      return acl ? superblock.protocol->SetAcl(inode.handle(), *acl, value, credential)
                 : superblock.protocol->SetXattr(inode.handle(), *sent, value, how, credential);
    });
  });
}

std::errc RemoveXattr(Superblock& superblock, Inode& inode, std::string_view name,
                      const Credential& credential) {
  const std::optional<AclKind> acl = AclOf(name);
  if (acl && !MayHaveAcl(superblock, *acl, AttributesOf(inode))) {
    return std::errc::operation_not_supported;
  }
  if (acl == AclKind::kNfs4) return std::errc::invalid_argument;
  if (acl) {
    return SetXattr(superblock, inode, name, protocol::PosixAclValue({}),
                    protocol::XattrMode::kEither, credential);
  }
  const auto sent = NameOnWire(name);
  if (!sent) return sent.error();
  return Change(superblock, inode, /*in_parts=*/false, [&] {
    return Ask(superblock, inode, superblock.without_xattrs, /*tells=*/false,
               [&] { return superblock.protocol->RemoveXattr(inode.handle(), *sent, credential); });
  });
}

}  // namespace nfswalk::nfs
