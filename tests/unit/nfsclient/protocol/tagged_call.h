// tagged_call: a GETATTR whose file handle is a number, by which a FakeServer distinguishes calls.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_TAGGED_CALL_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_TAGGED_CALL_H_

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "nfsclient/protocol/rpc_call.h"
#include "nfsclient/protocol/rpc_channel.h"
#include "tests/unit/nfsclient/protocol/fake_server.h"
#include "tests/unit/nfsclient/protocol/libnfs_raw.h"

namespace nfswalk::protocol {

class TaggedCall final : public RpcCall {
 public:
  explicit TaggedCall(uint32_t tag) : tag_(tag) {}
  // Returns the nfsstat3 of the reply; -1: no reply.
  int status() const { return status_; }

 private:
  int Issue(rpc_context* rpc, ReplyCallback callback, void* data) override {
    GETATTR3args args{{{sizeof tag_, reinterpret_cast<char*>(&tag_)}}};
    return rpc_nfs3_getattr_async(rpc, callback, &args, data);
  }
  void OnReply(const void* result) noexcept override {
    status_ = static_cast<const GETATTR3res*>(result)->status;
  }

  uint32_t tag_;
  int status_ = -1;
};

inline uint32_t TagOf(const FakeCall& call) {
  const std::string handle = XdrReader(call.arguments).Bytes();
  uint32_t tag = 0;
  std::memcpy(&tag, handle.data(), std::min(handle.size(), sizeof tag));
  return tag;
}

// A GETATTR reply of `nfsstat3` alone.
inline FakeAnswer StatusAnswer(uint32_t nfsstat3) { return Reply(Xdr().U32(nfsstat3)); }
inline const FakeAnswer kNoEntry = StatusAnswer(NFS3ERR_NOENT);

inline std::unique_ptr<RpcChannel> OpenChannel(uint16_t port,
                                               std::chrono::milliseconds connect_timeout) {
  const RpcEndpoint endpoint{"127.0.0.1", port, NFS_PROGRAM, NFS_V3};
  return std::move(RpcChannel::Open(endpoint, connect_timeout).value());
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_TAGGED_CALL_H_
