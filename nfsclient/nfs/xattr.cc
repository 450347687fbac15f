#include "nfsclient/nfs/xattr.h"

#include <cstdint>
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::nfs {
namespace {

using icache::Inode;
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

uint64_t FsidOf(Inode& inode) {
  protocol::Attributes attributes;
  CopyAttributes(inode, attributes);
  return attributes.fsid;
}

// Makes a call of Protocol. Whether a file system has ACLs is told with the root's limits.
template <typename Call>
auto AskAcl(Superblock& superblock, Inode& inode, Call call) {
  auto reply = call();
  if (reply.error == protocol::kStale) MarkStale(superblock, inode);
  return reply;
}

// Makes a call of Protocol, unless the inode's file system is known to have no extended attributes:
// one that reads has been refused there. One that changes may be refused where there are some.
template <typename Call>
auto Ask(Superblock& superblock, Inode& inode, bool reads, Call call) {
  decltype(call()) reply;
  reply.error = std::errc::operation_not_supported;
  if (!superblock.protocol->has_xattrs()) return reply;
  const uint64_t fsid = FsidOf(inode);
  if (superblock.without_xattrs.Has(fsid)) return reply;
  reply = call();
  const bool has_none = reads && reply.error == std::errc::operation_not_supported;
  if (has_none) superblock.without_xattrs.Add(fsid);
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

}  // namespace

std::expected<std::string, std::errc> GetXattr(Superblock& superblock, Inode& inode,
                                               std::string_view name,
                                               const Credential& credential) {
  protocol::XattrReply reply;
  if (name == kAcl) {
    reply = AskAcl(superblock, inode,
                   [&] { return superblock.protocol->GetAcl(inode.handle(), credential); });
  } else {
    const auto sent = NameOnWire(name);
    if (!sent) return std::unexpected(sent.error());
    reply = Ask(superblock, inode, /*reads=*/true,
                [&] { return superblock.protocol->GetXattr(inode.handle(), *sent, credential); });
  }
  if (reply.error != protocol::kOk) return std::unexpected(reply.error);
  return std::move(reply.value);
}

std::expected<std::vector<std::string>, std::errc> ListXattrs(Superblock& superblock, Inode& inode,
                                                              const Credential& credential) {
  auto reply = Ask(superblock, inode, /*reads=*/true,
                   [&] { return superblock.protocol->ListXattrs(inode.handle(), credential); });
  const bool has_acl_alone =
      reply.error == std::errc::operation_not_supported && superblock.protocol->has_acls();
  if (reply.error != protocol::kOk && !has_acl_alone) return std::unexpected(reply.error);
  // A longer one could not be asked for.
  std::erase_if(reply.names, [](const std::string& name) {
    return kUser.size() + name.size() > protocol::kNameBytesMax;
  });
  for (std::string& name : reply.names) name.insert(0, kUser);
  if (superblock.protocol->has_acls()) reply.names.emplace_back(kAcl);
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
    if (is_acl) {
      return AskAcl(superblock, inode,
                    [&] { return superblock.protocol->SetAcl(inode.handle(), value, credential); });
    }
    return Ask(superblock, inode, /*reads=*/false, [&] {
      return superblock.protocol->SetXattr(inode.handle(), *sent, value, how, credential);
    });
  });
}

std::errc RemoveXattr(Superblock& superblock, Inode& inode, std::string_view name,
                      const Credential& credential) {
  if (name == kAcl) {
    return superblock.protocol->has_acls() ? std::errc::invalid_argument
                                           : std::errc::operation_not_supported;
  }
  const auto sent = NameOnWire(name);
  if (!sent) return sent.error();
  return Change(superblock, inode, [&] {
    return Ask(superblock, inode, /*reads=*/false,
               [&] { return superblock.protocol->RemoveXattr(inode.handle(), *sent, credential); });
  });
}

}  // namespace nfswalk::nfs
