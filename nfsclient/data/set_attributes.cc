#include "nfsclient/data/set_attributes.h"

#include <memory>
#include <new>

#include "nfsclient/data/write_back.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/call_deadline.h"
#include "rcu/sync_point.h"

namespace nfswalk::data {

using icache::Inode;
using nfs::Superblock;
using protocol::Attributes;
using protocol::kOk;
using protocol::SetAttributes;
using sunrpc_auth::Credential;

namespace {

std::errc Send(Superblock& superblock, Inode& inode, const SetAttributes& attributes,
               const Credential& credential) {
  const nfs::SendStamp stamp = nfs::Stamp(superblock);
  const auto reply = superblock.protocol->SetAttributesOf(inode.handle(), attributes, credential);
  if (reply.error == protocol::kStale) nfs::MarkStale(superblock, inode);
  nfs::UpdateAfterOwnChange(superblock, inode, reply.file, stamp, reply.error);
  return reply.error;
}

// Preconditions: the file is locked.
std::errc Flush(Superblock& superblock, Inode& inode) {
  const auto data = superblock.dirty_files.Find(inode);
  return data ? data->Flush(WriteBack::Until::kCommitted) : kOk;
}

// SETATTR of a file that is no directory.
std::errc FlushAndSend(Superblock& superblock, Inode& inode, const SetAttributes& attributes,
                       const Credential& credential) try {
  const RwsemGuard lock(superblock, inode);
  if (!lock) return protocol::CallDeadline::Error();
  if (attributes.size_bytes && inode.type.load() == protocol::FileType::kRegular) {
    return WriteBack::Of(superblock, inode)->Truncate(attributes, credential);
  }
  const std::errc error = Flush(superblock, inode);
  if (error != kOk) return error;
  NFSWALK_SYNC_POINT("set_attributes:flushed");
  return Send(superblock, inode, attributes, credential);
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

}  // namespace

std::errc ChangeFlushed(Superblock& superblock, Inode& inode,
                        const std::function<std::errc()>& change) {
  if (inode.is_directory()) return change();
  const RwsemGuard lock(superblock, inode);
  if (!lock) return protocol::CallDeadline::Error();
  const std::errc error = Flush(superblock, inode);
  return error == kOk ? change() : error;
}

std::expected<Attributes, std::errc> SetAttributesOf(Superblock& superblock, Inode& inode,
                                                     const SetAttributes& attributes,
                                                     const Credential& credential) {
  std::errc error = inode.is_directory()
                        ? Send(superblock, inode, attributes, credential)
                        : FlushAndSend(superblock, inode, attributes, credential);
  if (error != kOk) return std::unexpected(error);
  error = nfs::RevalidateInode(superblock, inode, credential);
  if (error != kOk) return std::unexpected(nfs::OutcomeUnknown(error));
  Attributes now;
  nfs::CopyAttributes(inode, now);
  return now;
}

}  // namespace nfswalk::data
