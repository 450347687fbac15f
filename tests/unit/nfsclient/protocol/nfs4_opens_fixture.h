// nfs4_opens_fixture: an Nfs4Opens and its FakeNfs4, for nfs4_opens_test.cc and
// nfs4_recovery_test.cc.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_NFS4_OPENS_FIXTURE_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_NFS4_OPENS_FIXTURE_H_

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <string>
#include <utility>

#include "nfsclient/protocol/nfs4_call.h"
#include "nfsclient/protocol/nfs4_decode.h"
#include "nfsclient/protocol/nfs4_opens.h"
#include "tests/unit/nfsclient/protocol/fake_nfs4.h"
#include "tests/unit/nfsclient/protocol/libnfs_raw.h"

namespace nfswalk::protocol {

using Kind = FakeFault::Kind;
using How = OpenArguments::How;

inline const Credential kUser(1000, 100);

inline FileHandle HandleOf(const std::string& bytes) {
  return FileHandle({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

constexpr FakeFault Fails(int status) { return {.status = status}; }

class Nfs4OpensTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.Put("f", {.mode = 0666, .data = "hello"});
    Connect({});
  }
  void TearDown() override {
    if (caller_ != nullptr) caller_->Shutdown();
    if (opens_ != nullptr) opens_->Shutdown();
  }

  void Connect(const TransportOptions& options) {
    opens_.reset();
    caller_ = std::move(RpcCaller::Open({"127.0.0.1", server_.port(), 100003, 4}, options).value());
    opens_ = std::make_unique<Nfs4Opens>(*caller_, owners_);
  }

  Nfs4Opens::Opened Open(const Nfs4Opens::OpenRequest& request,
                         const Credential& credential = kUser) {
    RpcCaller::Budget budget = caller_->NewBudget();
    return opens_->Open(request, credential, budget);
  }
  Nfs4Opens::OpenRequest OpenRequest(const std::string& name = "f") {
    return {.directory = root_, .name = names_.emplace_back(name), .read = true, .write = true};
  }
  Nfs4Opens::OpenRequest CreateRequest(const std::string& name, How how) {
    Nfs4Opens::OpenRequest request = OpenRequest(name);
    request.how = how;
    return request;
  }
  std::unique_ptr<OpenState> OpenFile(const std::string& name = "f") {
    Nfs4Opens::Opened opened = Open(OpenRequest(name));
    EXPECT_EQ(opened.error, kOk);
    file_ = opened.handle;
    return std::move(opened.state);
  }

  struct DataReply {
    std::errc error{};
    int status = 0;
    std::string data;
  };
  // Sends READ and recovers, as Nfs4::Read() does.
  DataReply Read(const OpenState* state, const FileHandle& file) {
    RpcCaller::Budget budget = caller_->NewBudget();
    for (;;) {
      const StateId used = Nfs4Opens::StateOf(state);
      Compound compound;
      compound.PutHandle(file).Read(used, 0, 100);
      auto reply = CallCompound<DataReply>(
          *caller_, compound, kUser, budget, [](CompoundReader& reader, DataReply& got) {
            std::byte bytes[100];
            ReadReply read;
            reader.Next(OP_PUTFH);
            if (TakeRead(reader, bytes, read)) {
              got.data.assign(reinterpret_cast<char*>(bytes), read.count_bytes);
            }
            got.error = reader.error();
            got.status = reader.status();
          });
      if (reply.error == kOk || reply.status == 0) return reply;
      reply.error = opens_->Recover(state, used, reply.status, budget);
      if (reply.error != kOk) return reply;
    }
  }
  DataReply Read(const OpenState* state) { return Read(state, file_); }

  FakeNfs4 server_;
  const OwnerNames owners_;
  const FileHandle root_ = HandleOf(FakeNfs4::root_handle());
  FileHandle file_;
  std::list<std::string> names_;
  std::unique_ptr<RpcCaller> caller_;
  std::unique_ptr<Nfs4Opens> opens_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_NFS4_OPENS_FIXTURE_H_
