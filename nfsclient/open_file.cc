#include "nfsclient/open_file.h"

#include <algorithm>
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"

namespace nfswalk {

OpenFile::OpenFile(Superblock& superblock, icache::InodeRef inode,
                   std::unique_ptr<protocol::OpenState> state,
                   sunrpc_auth::CredentialRef credential, uint32_t mode)
    : superblock_(superblock),
      inode_(std::move(inode)),
      state_(std::move(state)),
      credential_(std::move(credential)),
      mode_(mode) {}

Result<size_t> OpenFile::PRead(std::span<std::byte> into, uint64_t offset_bytes) {
  if ((mode_ & kMayRead) == 0) return std::unexpected(std::errc::bad_file_descriptor);
  size_t done = 0;
  while (done < into.size()) {
    size_t chunk = std::min<size_t>(into.size() - done, superblock_.limits.read_bytes_max);
    auto stamp = nfs::Stamp(superblock_);
    auto reply =
        superblock_.protocol->Read(inode_->handle(), offset_bytes + done, into.subspan(done, chunk),
                                   state_.get(), credential_->key());
    if (reply.error == protocol::kStale) nfs::MarkStale(superblock_, *inode_);
    if (reply.error != std::errc{}) return std::unexpected(reply.error);
    if (reply.attributes) {
      (void)nfs::UpdateAttributes(superblock_, *inode_, *reply.attributes, stamp);
    }
    done += reply.count_bytes;
    if (reply.eof || reply.count_bytes == 0) break;
  }
  return done;
}

Result<size_t> OpenFile::PWrite(std::span<const std::byte> data, uint64_t offset_bytes) {
  if ((mode_ & kMayWrite) == 0) return std::unexpected(std::errc::bad_file_descriptor);
  size_t done = 0;
  while (done < data.size()) {
    size_t chunk = std::min<size_t>(data.size() - done, superblock_.limits.write_bytes_max);
    auto stamp = nfs::Stamp(superblock_);
    auto reply =
        superblock_.protocol->Write(inode_->handle(), offset_bytes + done,
                                    data.subspan(done, chunk), state_.get(), credential_->key());
    nfs::UpdateAfterOwnChange(superblock_, *inode_, reply.file, stamp, reply.error);
    if (reply.error == protocol::kStale) nfs::MarkStale(superblock_, *inode_);
    if (reply.error != std::errc{}) return std::unexpected(reply.error);
    if (reply.count_bytes == 0) return std::unexpected(std::errc::io_error);
    done += reply.count_bytes;
  }
  return done;
}

Attributes OpenFile::attributes() const {
  Attributes attributes;
  nfs::CopyAttributes(*inode_, attributes);
  return attributes;
}

}  // namespace nfswalk
