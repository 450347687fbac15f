// nfs4_open_owner: open-owners and their sequence numbers (RFC 7530 9.1.3, 9.1.7).
//
// An owner has at most one file open: a second OPEN of the same file would upgrade the first's
// state instead of creating another, and one CLOSE would end both (RFC 7530 9.9). So calls for
// different files are never serialised by a sequence. After CLOSE an owner is kept for the next
// OPEN of its credential, which then needs no OPEN_CONFIRM.
//
// Thread safety: OpenOwnerPool: all functions; OpenOwner: as any value.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_OWNER_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_OWNER_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {

struct OpenOwner {
  std::string name;
  // Sequence number of the next call.
  uint32_t sequence = 0;
  // Generation of its client id (nfs4_lease.h).
  uint64_t generation = 0;
  sunrpc_auth::Credential credential = {};
  // False once the number that the server expects is unknown.
  bool usable = true;

  // Updates the sequence after a call that the server executed with `nfsstat4`.
  void Executed(int nfsstat4);
};

class OpenOwnerPool {
 public:
  // Limit of owners kept without a file.
  static constexpr size_t kIdleMax = 64;

  // Returns an owner for exclusive use, idle or new.
  OpenOwner Take(const sunrpc_auth::Credential& credential, uint64_t generation);
  // Takes back an owner without a file. Drops it if it is not usable.
  void Put(OpenOwner owner);

 private:
  std::mutex mutex_;
  std::vector<OpenOwner> idle_;  // guarded by mutex_; the most recent one is the last
  uint64_t next_name_ = 0;       // guarded by mutex_
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_OWNER_H_
