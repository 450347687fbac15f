// tagged_call: a GETATTR whose file handle is a number, by which a FakeServer distinguishes calls.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_RPC_TAGGED_CALL_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_RPC_TAGGED_CALL_H_

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "nfsclient/rpc/connection.h"
#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::rpc {

using protocol::FakeAnswer;
using protocol::FakeCall;
using protocol::FakeServer;
using protocol::kHangUp;
using protocol::kHttpAnswer;
using protocol::kProgramUnavailable;
using protocol::kSilence;
using protocol::OnNfsCall;
using protocol::UnusedPort;
using protocol::Xdr;

class TaggedRequest {
 protected:
  explicit TaggedRequest(uint32_t tag) {
    GETATTR3args args{{{sizeof tag, reinterpret_cast<char*>(&tag)}}};
    arguments_.Append(zdr_GETATTR3args, args);
    tagged_ = {
        .procedure = NFS3_GETATTR, .arguments = arguments_.bytes(), .results_bytes_max = 1024};
  }

  XdrBuffer arguments_;
  Request tagged_;
};

class TaggedCall final : private TaggedRequest, public Call {
 public:
  explicit TaggedCall(uint32_t tag) : TaggedRequest(tag), Call(tagged_) {}
  // Returns the nfsstat3 of the reply. Preconditions: it has one.
  int status() const { return static_cast<int>(results().U32()); }
};

inline uint32_t TagOf(const FakeCall& call) {
  const std::string handle = protocol::XdrReader(call.arguments).Bytes();
  uint32_t tag = 0;
  std::memcpy(&tag, handle.data(), std::min(handle.size(), sizeof tag));
  return tag;
}

// A GETATTR reply of `nfsstat3` alone.
inline FakeAnswer StatusAnswer(uint32_t nfsstat3) { return protocol::Reply(Xdr().U32(nfsstat3)); }
inline const FakeAnswer kNoEntry = StatusAnswer(NFS3ERR_NOENT);

inline std::unique_ptr<Connection> OpenConnection(uint16_t port,
                                                  std::chrono::milliseconds connect_timeout) {
  const Endpoint endpoint{"127.0.0.1", port, NFS_PROGRAM, NFS_V3};
  return std::move(
      Connection::Open(endpoint, {.connect = connect_timeout, .silence = connect_timeout}).value());
}

// In the scope, sockets that this thread makes have no reserved ports.
class NoReservedPorts {
 public:
  NoReservedPorts() { Set(false); }
  ~NoReservedPorts() { Set(true); }
  NoReservedPorts(const NoReservedPorts&) = delete;
  NoReservedPorts& operator=(const NoReservedPorts&) = delete;

 private:
  void Set(bool effective) {
    constexpr uint32_t kBit = 1u << CAP_NET_BIND_SERVICE;
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2];
    syscall(SYS_capget, &header, data);
    data[0].effective &= ~kBit;
    if (effective) data[0].effective |= data[0].permitted & kBit;
    syscall(SYS_capset, &header, data);
  }
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_RPC_TAGGED_CALL_H_
