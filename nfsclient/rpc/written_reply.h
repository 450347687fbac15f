// written_reply: replies of WRITE and COMMIT, with what only the transport's caller needs to know.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_RPC_WRITTEN_REPLY_H_
#define NFSWALK_NFSCLIENT_RPC_WRITTEN_REPLY_H_

#include <cstdint>
#include <system_error>

#include "nfsclient/protocol/protocol.h"

namespace nfswalk::rpc {

// stable_how of RFC 1813, stable_how4 of RFC 7530.
enum class Stability : uint32_t { kUnstable = 0, kDataSync = 1, kFileSync = 2 };

struct WrittenReply : protocol::WriteReply {
  Stability committed = Stability::kFileSync;
  uint64_t verifier = 0;  // of the server's instance, which may lose what is not committed
};
struct CommitReply {
  std::errc error{};
  uint64_t verifier = 0;
  protocol::WeakCacheConsistency file;
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_WRITTEN_REPLY_H_
