// fake_nfs3: a small tree served over MOUNT and NFSv3 by a FakeServer, with injected faults.
//
// Limited to what the tests of lost replies need: no permissions, no data, constant times, no
// RENAME of directories. The creator owns a file (the uid of AUTH_SYS).
//
// Thread safety: all functions.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS3_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS3_H_

#include <cstdint>
#include <memory>

#include "tests/unit/nfsclient/protocol/fake_server.h"
#include "tests/unit/nfsclient/protocol/fake_tree.h"

namespace nfswalk::protocol {

class FakeNfs3 : public FakeTreeServer {
 public:
  uint16_t port() const { return server_.port(); }

 private:
  // A call being executed; `file` is the one of its first handle.
  struct Run {
    XdrReader in;
    uint32_t uid;
    std::shared_ptr<FakeNode> file = nullptr;
    Xdr out = {};  // behind the status
  };

  FakeAnswer Handle(const FakeCall& call);
  Xdr Failure(const FakeCall& call);
  // All below return an nfsstat3.
  int Execute(uint32_t procedure, Run& run);
  int SetAttributes(Run& run);
  int Lookup(Run& run);
  int Make(Run& run, FakeNode::Type type);
  int Remove(Run& run);
  int Rename(Run& run);
  int Link(Run& run);
  int ListDirectory(Run& run, bool plus);

  FakeServer server_{[this](const FakeCall& call) { return Handle(call); }};  // last: has threads
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS3_H_
