// fake_nfs4: a small NFSv4.0 server with a tree in memory and injected faults per operation.
//
// For what a real server does not do on demand: DELAY, lost replies, truncated COMPOUNDs,
// attributes that do not parse, a restart between two operations. COMPOUNDs are executed operation
// by operation on real state (fake_nfs4_state.h); sequence numbers, state ids and leases are
// checked strictly. No timers: leases and the grace period end by a call. Only OPEN checks
// permissions, of owner and others. Not implemented: LOCK, delegations, RENAME, LINK.
//
// Thread safety: all functions.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS4_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS4_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tests/unit/nfsclient/protocol/fake_nfs4_state.h"
#include "tests/unit/nfsclient/protocol/fake_server.h"
#include "tests/unit/nfsclient/protocol/fake_tree.h"

namespace nfswalk::protocol {

class FakeNfs4 : public FakeTreeServer {
 public:
  uint16_t port() const { return server_.port(); }

  // Drops all state. With `grace`, opens may be reclaimed, and others are refused until EndGrace().
  void Restart(bool grace);
  void EndGrace() {
    const std::lock_guard lock(mutex_);
    in_grace_ = false;
  }
  void ExpireLeases() {
    const std::lock_guard lock(mutex_);
    clients_.Expire();
  }
  // Revokes the opens of a file, as an administrator may.
  void ForgetOpens(const std::string& path) {
    const std::lock_guard lock(mutex_);
    clients_.Forget(tree_.Find(path)->handle());
  }
  // Sets the attribute lease_time.
  void set_lease_seconds(uint32_t seconds) {
    const std::lock_guard lock(mutex_);
    lease_seconds_ = seconds;
  }
  // Open files of all clients.
  size_t opens() {
    const std::lock_guard lock(mutex_);
    return clients_.opens();
  }
  // Open-owners known.
  size_t owners() {
    const std::lock_guard lock(mutex_);
    return clients_.owners();
  }

 private:
  // A COMPOUND being executed.
  struct Run {
    XdrReader in;
    uint32_t uid = 0;
    std::string principal;
    std::shared_ptr<FakeNode> current = nullptr;
    std::shared_ptr<FakeNode> saved = nullptr;
    bool malformed = false;  // of the current operation
    int refuse = 0;          // its status once its sequence number was checked
    Xdr out = {};            // behind the status
  };
  struct OpenRequest;

  FakeAnswer Handle(const FakeCall& call);
  // All below return an nfsstat4.
  int Execute(int operation, Run& run);
  int ExecuteOnFile(int operation, Run& run);
  int PutHandle(Run& run);
  int Lookup(Run& run);
  int LookupParent(Run& run);
  int GetAttributes(Run& run);
  int ReadLink(Run& run);
  int Verify(Run& run, bool same);
  int Read(Run& run);
  int Write(Run& run);
  int ReadDir(Run& run);
  int Create(Run& run);
  int Remove(Run& run);
  int SetAttributes(Run& run);
  int SetClientId(Run& run);
  int ConfirmClientId(Run& run);
  int Open(Run& run);
  FakeClients::Result OpenNow(Run& run, const OpenRequest& request);
  int OpenNamed(Run& run, const OpenRequest& request, std::shared_ptr<FakeNode>& file);
  int ConfirmOpen(Run& run);
  int Close(Run& run);
  int Finish(Run& run, const FakeClients::Result& result);

  FakeClients clients_;  // this and below: guarded by mutex_
  bool in_grace_ = false;
  uint32_t lease_seconds_ = 60;
  FakeServer server_{[this](const FakeCall& call) { return Handle(call); }};  // last: has threads
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS4_H_
