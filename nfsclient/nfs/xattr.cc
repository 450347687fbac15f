#include "nfsclient/nfs/xattr.h"

#include <cstdint>
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::nfs {
namespace {

using icache::Inode;
using protocol::Attributes;
using sunrpc_auth::Credential;

constexpr std::string_view kUser = "user.";
constexpr std::string_view kAcl = "system.nfs4_acl";

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

// A link has none where other files have one (Linux's server leaves out the attribute).
bool MayHaveAcl(const Superblock& superblock, const Attributes& attributes) {
  return superblock.protocol->has_acls() && attributes.type != protocol::FileType::kSymlink &&
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

// Makes a call that changes the inode's times, by `ask()`.
template <typename Ask>
std::errc Change(Superblock& superblock, Inode& inode, Ask ask) {
  const SendStamp stamp = Stamp(superblock);
  const protocol::FileChangeReply reply = ask();
  UpdateAfterOwnChange(superblock, inode, reply.file, stamp, reply.error);
  return reply.error;
}

// Asks for it, unless the root's file system, which has told at mount, is that of the file.
bool HasAcl(Superblock& superblock, Inode& inode, const Credential& credential) {
  const Attributes attributes = AttributesOf(inode);
  if (!MayHaveAcl(superblock, attributes)) return false;
  if (attributes.fsid == AttributesOf(*superblock.root.inode()).fsid) return true;
  const auto acl = GetXattr(superblock, inode, kAcl, credential);
  return acl || acl.error() != std::errc::operation_not_supported;
}

}  // namespace

std::expected<std::string, std::errc> GetXattr(Superblock& superblock, Inode& inode,
                                               std::string_view name,
                                               const Credential& credential) {
  protocol::XattrReply reply;
  if (name == kAcl) {
    reply = Ask(superblock, inode, superblock.without_acls,
                /*tells=*/IsFileOrDirectory(AttributesOf(inode).type),
                [&] { return superblock.protocol->GetAcl(inode.handle(), credential); });
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
  const bool has_acl = HasAcl(superblock, inode, credential);
  if (has_no_others && !has_acl) return std::unexpected(reply.error);
  // A longer one could not be asked for.
  std::erase_if(reply.names, [](const std::string& name) {
    return kUser.size() + name.size() > protocol::kNameBytesMax;
  });
  for (std::string& name : reply.names) name.insert(0, kUser);
  if (has_acl) reply.names.emplace_back(kAcl);
  return std::move(reply.names);
}

std::errc SetXattr(Superblock& superblock, Inode& inode, std::string_view name,
                   std::string_view value, protocol::XattrMode how, const Credential& credential) {
  const bool is_acl = name == kAcl;
  const auto sent = is_acl ? std::expected<std::string_view, std::errc>(name) : NameOnWire(name);
  if (!sent) return sent.error();
  if (how > protocol::XattrMode::kReplace) return std::errc::invalid_argument;
  if (value.size() > protocol::kXattrValueBytesMax) return std::errc::argument_list_too_long;
  return Change(superblock, inode, [&] {
    FileSystemsWithout& without = is_acl ? superblock.without_acls : superblock.without_xattrs;
    return Ask(superblock, inode, without, /*tells=*/false, [&] {
      return is_acl ? superblock.protocol->SetAcl(inode.handle(), value, credential)
                    : superblock.protocol->SetXattr(inode.handle(), *sent, value, how, credential);
    });
  });
}

std::errc RemoveXattr(Superblock& superblock, Inode& inode, std::string_view name,
                      const Credential& credential) {
  if (name == kAcl) {
    return MayHaveAcl(superblock, AttributesOf(inode)) ? std::errc::invalid_argument
                                                       : std::errc::operation_not_supported;
  }
  const auto sent = NameOnWire(name);
  if (!sent) return sent.error();
  return Change(superblock, inode, [&] {
    return Ask(superblock, inode, superblock.without_xattrs, /*tells=*/false,
               [&] { return superblock.protocol->RemoveXattr(inode.handle(), *sent, credential); });
  });
}

}  // namespace nfswalk::nfs
