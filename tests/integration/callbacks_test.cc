// A delegation that a real server recalls: its calls come over the back channel, and it takes their
// answers. The client itself asks for none.
#include <gtest/gtest.h>

#include <expected>
#include <memory>
#include <string>
#include <thread>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/state/lease.h"
#include "nfsclient/rpc/caller.h"
#include "tests/fixtures/libnfs_raw.h"
#include "tests/fixtures/protocol_session.h"

namespace nfswalk::protocol {
namespace {

class CallbacksFromServer : public SessionWithServer, public testing::WithParamInterface<uint32_t> {
 protected:
  struct OpenedReply {
    std::errc error{};
    OpenGrant grant;
    FileHandle file;
  };

  int version() const override { return 4; }

  // A client beside that of the fixture, with a session of the minor version.
  void SetUp() override {
    Start({});
    if (!server().properties().delegates) GTEST_SKIP() << "it grants no delegations";
    const fixtures::NfsServer::NetworkScope inside(server());
    const rpc::Endpoint endpoint{server().host(), server().nfs_port(), NFS4_PROGRAM, NFS_V4};
    auto opened = rpc::Caller::Open(endpoint, {});
    ASSERT_TRUE(opened.has_value());
    caller_ = std::move(*opened);
    caller_->SetMinorVersion(GetParam());
    delegations_ = std::make_shared<Delegations>(
        *caller_, [this] { return client_.generation; }, [] {});
    lease_ = std::make_unique<Lease>(
        *caller_, *delegations_,
        [](const LiveClient&, rpc::Caller::Budget&) { return Lease::Recovery{}; });
    rpc::Caller::Budget budget = caller_->NewBudget();
    client_ = lease_->Client(budget).value();
    lease_->CompleteReclaim(client_, false, budget);
    while (!caller_->Stats({}).has_back_channel) std::this_thread::yield();
  }
  void TearDown() override {
    if (lease_ == nullptr) return;
    rpc::Caller::Budget budget = caller_->NewBudget();
    lease_->Stop();
    lease_->Discard(budget);
    lease_->End();
    caller_->Shutdown();
  }

  template <typename Reply, typename Decode>
  Reply Call(Compound& compound, Decode decode) {
    rpc::Caller::Budget budget = caller_->NewBudget();
    return CallCompound<Reply>(*caller_, compound, kRoot, budget, decode);
  }
  OpenedReply Create(const std::string& name) {
    OpenArguments arguments;
    arguments.client_id = client_.id;
    arguments.owner = name;
    arguments.read = true;
    arguments.how = OpenArguments::How::kUnchecked;
    arguments.attributes = {.mode = 0644};
    arguments.name = name;
    Compound compound;
    compound.PutHandle(root()).Open(arguments).GetHandle();
    return Call<OpenedReply>(compound, [](CompoundReader& reader, OpenedReply& reply) {
      reader.Next(OP_PUTFH);
      TakeOpen(reader, reply.grant);
      TakeHandle(reader, reply.file);
      reply.error = reader.error();
    });
  }

  std::unique_ptr<rpc::Caller> caller_;
  std::shared_ptr<Delegations> delegations_;
  std::unique_ptr<Lease> lease_;
  LiveClient client_;
};

INSTANTIATE_TEST_SUITE_P(MinorVersions, CallbacksFromServer, testing::Values(1u, 2u),
                         [](const auto& test) { return "v4_" + std::to_string(test.param); });

// WIRE-45.
TEST_P(CallbacksFromServer, ARecallOfADelegationIsAnswered) {
  // The server grants none for a while after its start.
  OpenedReply held;
  std::string name;
  for (int number = 0; !held.grant.delegation; ++number) {
    name = "f" + std::to_string(number);
    held = Create(name);
    ASSERT_EQ(held.error, kOk);
  }
  OpenReply opened;
  std::thread other([&] { opened = nfs().Open(root(), name, held.file, false, true, kRoot); });
  while (caller_->Stats({}).callbacks == 0) std::this_thread::yield();

  struct Status {
    std::errc error{};
  };
  Compound compound;
  compound.PutHandle(held.file).ReturnDelegation(held.grant.delegation->state);
  const auto returned = Call<Status>(compound, [](CompoundReader& reader, Status& reply) {
    reader.Next(OP_PUTFH);
    reader.Next(OP_DELEGRETURN);
    reply.error = reader.error();
  });
  EXPECT_EQ(returned.error, kOk);
  other.join();
  EXPECT_EQ(opened.error, kOk);
  EXPECT_TRUE(caller_->Stats({}).has_back_channel) << "the server has taken the answer";
}

}  // namespace
}  // namespace nfswalk::protocol
