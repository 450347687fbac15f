// tagged_call: a GETATTR whose file handle is a number, by which a FakeServer distinguishes calls.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_TAGGED_CALL_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_TAGGED_CALL_H_

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw.h>
// clang-format on

#include <cstdint>
#include <cstring>

#include "nfsclient/protocol/rpc_call.h"
#include "nfsclient/protocol/rpc_channel.h"
#include "tests/fixtures/fake_server.h"

namespace nfswalk::protocol {

constexpr uint32_t kGetAttributesProcedure = 1;

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

inline uint32_t TagOf(const fixtures::FakeCall& call) {
  const std::string handle = fixtures::XdrReader(call.arguments).Bytes();
  uint32_t tag = 0;
  std::memcpy(&tag, handle.data(), std::min(handle.size(), sizeof tag));
  return tag;
}

// Returns a GETATTR reply of `nfsstat3` alone.
inline fixtures::FakeAnswer StatusAnswer(uint32_t nfsstat3) {
  return {fixtures::FakeAnswer::Kind::kReply, fixtures::Xdr().U32(nfsstat3).str(), 0};
}

inline RpcEndpoint NfsEndpoint(uint16_t port) { return {"127.0.0.1", port, NFS_PROGRAM, NFS_V3}; }

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_TAGGED_CALL_H_
