// delegating_server: a client of a FakeNfs4 that delegates what the test says, and calls back.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_API_DELEGATING_SERVER_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_API_DELEGATING_SERVER_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "rcu/sync_point.h"
#include "tests/fixtures/fake_mount.h"

namespace nfswalk {

class DelegatingServer : public FakeFile {
 protected:
  explicit DelegatingServer(uint32_t minor_version = 1) : FakeFile(4, minor_version) {
    nfs4_.set_lease_seconds(3600);  // no renewal comes of itself
    nfs4_.GrantDelegations(protocol::FakeNfs4::Grants::kAsked);
    options_.delegations = true;
    options_.acregmin_s = 0;  // attributes of files live by delegations alone
  }
  ~DelegatingServer() override { rcu::SyncPointScript::ClearAll(); }

  // Mounts, once the server can call.
  void MountCallable(const std::string& text = "old") {
    server_.Put("f", {.mode = 0666, .data = text});
    client_ = std::move(*Client::MountOver(Connect(), options_));
    channel_ = nfs4_.AwaitBackChannel(++bindings_);
    AwaitCallable();
    sequence_ = 0;
  }
  void AwaitCallable() {
    while (!client_->transport_stats().has_back_channel) std::this_thread::yield();
  }
  std::unique_ptr<File> OpenToRead() { return Open(kMayRead); }
  // Opens the file, which is delegated then, and closes it.
  void GetDelegation() {
    ASSERT_NE(OpenToRead(), nullptr);
    ASSERT_EQ(nfs4_.delegations(), 1u);
  }
  // CB_SEQUENCE in slot 0 and one operation. Returns the status of the CB_COMPOUND.
  std::optional<uint32_t> CallBack(const protocol::Xdr& operation) {
    constexpr uint32_t kSequence = 11;  // CB_SEQUENCE
    protocol::Xdr call;
    call.Bytes("").U32(1, 0, 2).U32(kSequence).Raw(channel_.session);
    call.U32(++sequence_, 0, 0, 0, 0).Raw(operation);
    const auto results = nfs4_.CallBack(channel_.connection, call);
    return results ? std::optional(protocol::XdrReader(*results).U32()) : std::nullopt;
  }
  // As a server before another client's change: recalls, and waits for the return.
  void RecallAndChange() {
    const int returns = calls(OP_DELEGRETURN);
    EXPECT_EQ(CallBack(nfs4_.LastRecall()), NFS4_OK);
    server_.AwaitCalls(OP_DELEGRETURN, returns + 1);
    Change();
  }
  // Ends `call`, by another thread, once the server holds what it has sent.
  void Interrupted(const std::function<void()>& call) {
    Cancellation cancellation;
    std::thread caller([&] {
      const CancelScope scope(cancellation);
      call();
    });
    EXPECT_TRUE(server_.AwaitHeld({}));
    cancellation.Cancel();
    caller.join();
  }
  // Sets the size of "f" to 5 bytes, as another client does.
  void Change() { server_.Truncate("f", 5); }
  void SetFlags(uint32_t flags) {
    nfs4_.WithSessions([&](protocol::FakeSessions& sessions) { sessions.status_flags = flags; });
  }
  std::string ReadNow() { return ReadAll(*OpenToRead()); }

  protocol::FakeSessions::BackChannel channel_;
  int bindings_ = 0;
  uint32_t sequence_ = 0;
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_API_DELEGATING_SERVER_H_
