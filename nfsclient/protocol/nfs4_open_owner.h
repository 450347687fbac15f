// nfs4_open_owner: open-owners, in whose name files are opened (RFC 7530 9.1.3, 9.1.7).
//
// An owner has at most one file open at a time: a second OPEN of the same file would widen the
// first one's state instead of making another, and the first CLOSE would end both (RFC 7530 9.9).
// So nothing of two files, or of two threads, ever waits for one another. An owner whose file is
// closed is kept for the next OPEN by the same credential, which needs no OPEN_CONFIRM then.
//
// Thread safety: the pool: all functions; an OpenOwner as any value.
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
  // Of the next call.
  uint32_t sequence = 0;
  // The client id that the server knows it by (nfs4_lease.h).
  uint64_t generation = 0;
  sunrpc_auth::Credential credential = {};
  // False once it is not known which number the server expects next.
  bool usable = true;

  // After a call with a sequence number that the server executed.
  void Executed(int nfsstat4);
};

class OpenOwnerPool {
 public:
  // Owners that are kept without a file.
  static constexpr size_t kIdleMax = 64;

  // One that nobody else has, idle or new.
  OpenOwner Take(const sunrpc_auth::Credential& credential, uint64_t generation);
  // Takes back an owner that has no file. One that is not usable is forgotten.
  void Put(OpenOwner owner);

 private:
  std::mutex mutex_;
  std::vector<OpenOwner> idle_;  // guarded by mutex_; the most recent one is the last
  uint64_t next_name_ = 0;       // guarded by mutex_
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_OWNER_H_
