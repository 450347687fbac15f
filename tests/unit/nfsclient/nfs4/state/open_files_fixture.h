// open_files_fixture: an OpenFiles and its FakeNfs4, for open_files_test.cc and
// recovery_test.cc.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_NFS4_STATE_OPEN_FILES_FIXTURE_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_NFS4_STATE_OPEN_FILES_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/nfs4/state/open_files.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {

using Kind = FakeFault::Kind;
using How = OpenArguments::How;

inline const Credential kUser(1000, 100);

inline FileHandle HandleOf(const std::string& bytes) {
  return FileHandle({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

inline FakeFault Fails(int status) { return {.status = status}; }

class OpenFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.Put("f", {.mode = 0666, .data = "hello"});
    Connect({});
  }
  void TearDown() override {
    if (caller_ != nullptr) caller_->Shutdown();
    if (open_files_ != nullptr) open_files_->Shutdown();
  }

  void Connect(const TransportOptions& options, uint32_t minor_version = MinorVersion()) {
    open_files_.reset();
    caller_ =
        std::move(rpc::Caller::Open({"127.0.0.1", server_.port(), 100003, 4}, options).value());
    caller_->SetMinorVersion(minor_version);
    open_files_ = std::make_shared<OpenFiles>(*caller_, owners_);
  }

  // Returns the minor version that all tests of the binary use.
  static uint32_t MinorVersion() {
    const char* const minor = std::getenv("NFSWALK_MINOR_VERSION");
    return minor == nullptr ? 0 : static_cast<uint32_t>(std::atoi(minor));
  }
  // The one that each client id begins with.
  static int ClientOperation() { return MinorVersion() == 0 ? int{OP_SETCLIENTID} : kOpExchangeId; }

  OpenFiles::Opened Open(const OpenFiles::Request& request, const Credential& credential = kUser) {
    rpc::Caller::Budget budget = caller_->NewBudget();
    return open_files_->Open(request, credential, budget);
  }
  OpenFiles::Request OpenRequest(const std::string& name = "f") {
    return {.at = root_, .name = names_.emplace_back(name), .read = true, .write = true};
  }
  OpenFiles::Request CreateRequest(const std::string& name, How how) {
    OpenFiles::Request request = OpenRequest(name);
    request.how = how;
    return request;
  }
  std::unique_ptr<OpenState> OpenFile(const std::string& name = "f") {
    OpenFiles::Opened opened = Open(OpenRequest(name));
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
    rpc::Caller::Budget budget = caller_->NewBudget();
    for (;;) {
      const StateId used = OpenFiles::StateOf(state);
      Compound compound;
      std::byte bytes[100];
      compound.PutHandle(file).Read(used, 0, bytes);
      auto reply = CallCompound<DataReply>(
          *caller_, compound, kUser, budget, [&](CompoundReader& reader, DataReply& got) {
            ReadReply read;
            reader.Next(OP_PUTFH);
            if (TakeRead(reader, bytes, read)) {
              got.data.assign(reinterpret_cast<char*>(bytes), read.count_bytes);
            }
            got.error = reader.error();
            got.status = reader.status();
          });
      if (reply.error == kOk || reply.status == 0) return reply;
      reply.error = open_files_->Recover(state, used, reply.status, budget);
      if (reply.error != kOk) return reply;
    }
  }
  DataReply Read(const OpenState* state) { return Read(state, file_); }

  FakeNfs4 server_;
  const OwnerNames owners_;
  const FileHandle root_ = HandleOf(FakeNfs4::root_handle());
  FileHandle file_;
  std::list<std::string> names_;
  std::unique_ptr<rpc::Caller> caller_;
  std::shared_ptr<OpenFiles> open_files_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_NFS4_STATE_OPEN_FILES_FIXTURE_H_
