// Node's extended attributes.
#include <new>

#include "nfsclient/api/walk_request.h"
#include "nfsclient/client.h"
#include "nfsclient/data/set_attributes.h"
#include "nfsclient/nfs/xattr.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/path_walk.h"
#include "nfsclient/walk/walk.h"

namespace nfswalk {

using walk::RefWalk;

namespace {

// Resolves the path and makes `call(inode, credential)`, which returns an errno.
template <typename Call>
std::errc AtInode(nfs::Superblock& superblock, const WalkRequest& request,
                  const Credential& credential, Call call) try {
  if (request.error != kOk) return request.error;
  if (request.flags.cached) return CachedError(superblock);
  return walk::ResolveToReference(
      superblock, request.start, request.path, credential, request.flags, &RefWalk::Resolve,
      [&](RefWalk& walk) { return call(walk.inode(), walk.credential()->key()); });
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

}  // namespace

Result<std::string> Node::GetXattr(std::string_view path, std::string_view name,
                                   const Credential& credential, ResolveFlags flags) const {
  Result<std::string> value;
  const std::errc error =
      AtInode(superblock_, RequestOf(superblock_, at_.get(), PathCall::kStat, path, flags),
              credential, [&](icache::Inode& inode, const Credential& as) {
                value = nfs::GetXattr(superblock_, inode, name, as);
                return value ? kOk : value.error();
              });
  if (error != kOk) return std::unexpected(error);
  return value;
}

Result<std::vector<std::string>> Node::ListXattrs(std::string_view path,
                                                  const Credential& credential,
                                                  ResolveFlags flags) const {
  Result<std::vector<std::string>> names;
  const std::errc error =
      AtInode(superblock_, RequestOf(superblock_, at_.get(), PathCall::kStat, path, flags),
              credential, [&](icache::Inode& inode, const Credential& as) {
                names = nfs::ListXattrs(superblock_, inode, as);
                return names ? kOk : names.error();
              });
  if (error != kOk) return std::unexpected(error);
  return names;
}

std::errc Node::SetXattr(std::string_view path, std::string_view name, std::string_view value,
                         XattrMode how, const Credential& credential, ResolveFlags flags) const {
  return AtInode(superblock_,
                 RequestOf(superblock_, at_.get(), PathCall::kSetAttributes, path, flags),
                 credential, [&](icache::Inode& inode, const Credential& as) {
                   return data::ChangeFlushed(superblock_, inode, [&] {
                     return nfs::SetXattr(superblock_, inode, name, value, how, as);
                   });
                 });
}

std::errc Node::RemoveXattr(std::string_view path, std::string_view name,
                            const Credential& credential, ResolveFlags flags) const {
  return AtInode(
      superblock_, RequestOf(superblock_, at_.get(), PathCall::kSetAttributes, path, flags),
      credential, [&](icache::Inode& inode, const Credential& as) {
        return data::ChangeFlushed(superblock_, inode,
                                   [&] { return nfs::RemoveXattr(superblock_, inode, name, as); });
      });
}

}  // namespace nfswalk
