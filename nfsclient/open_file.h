// open_file: reading and writing a file by its handle, nothing cached.
#ifndef NFSWALK_NFSCLIENT_OPEN_FILE_H_
#define NFSWALK_NFSCLIENT_OPEN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "nfsclient/client.h"
#include "nfsclient/nfs/superblock.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk {

class OpenFile : public File {
 public:
  OpenFile(Superblock& superblock, icache::InodeRef inode,
           std::unique_ptr<protocol::OpenState> state, sunrpc_auth::CredentialRef credential,
           uint32_t mode);

  Result<size_t> PRead(std::span<std::byte> into, uint64_t offset_bytes) override;
  Result<size_t> PWrite(std::span<const std::byte> data, uint64_t offset_bytes) override;
  Attributes attributes() const override;

 private:
  Superblock& superblock_;
  const icache::InodeRef inode_;
  const std::unique_ptr<protocol::OpenState> state_;
  const sunrpc_auth::CredentialRef credential_;
  const uint32_t mode_;
};

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_OPEN_FILE_H_
