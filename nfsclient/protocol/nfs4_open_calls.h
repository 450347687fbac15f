// nfs4_open_calls: OPEN, OPEN_CONFIRM and CLOSE (RFC 7530 16.16, 16.18, 16.2), one COMPOUND each,
// with the sequence number of an owner.
//
// A call that was not answered is sent again as it is for as long as the budget lasts: the server
// answers the same number in the same way (RFC 7530 9.1.9). After a call that got no answer in
// the end, or none that parses, its owner must not be used again. A status is never repeated here,
// since most use up the number, DELAY and GRACE too.
//
// Thread safety: all functions; the owner of a call is one thread's.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_CALLS_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_CALLS_H_

#include <optional>
#include <system_error>

#include "nfsclient/protocol/nfs4_decode.h"
#include "nfsclient/protocol/nfs4_open_owner.h"
#include "nfsclient/protocol/nfs4_state.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/rpc_caller.h"

namespace nfswalk::protocol {

struct SequencedReply {
  // There was no answer (rpc_retry.h), or none that parses (io_error).
  std::errc error{};
  // Else what the server said: nfsstat4.
  int status = 0;
  // The operation with the sequence number was executed, whatever its status.
  bool executed = false;
  StateId state;  // OPEN_CONFIRM
};

struct OpenedReply : SequencedReply {
  bool granted = false;  // and what follows is valid, so far as the server went on to tell
  OpenGrant grant;
  std::optional<FileHandle> handle;
  OptionalAttributes attributes;
  OptionalAttributes directory;  // after the OPEN
};

class OpenCalls {
 public:
  // Both outlive it.
  OpenCalls(RpcCaller& caller, const OwnerNames& owners) : caller_(caller), owners_(owners) {}

  // `at`: the directory; the file with arguments.reclaim. Fills in the arguments' owner and its
  // sequence. `name_owners`: users go as names in the attributes.
  OpenedReply Open(OpenOwner& owner, const FileHandle& at, OpenArguments arguments,
                   bool name_owners, RpcCaller::Budget& budget) const;
  SequencedReply Confirm(OpenOwner& owner, const FileHandle& file, const StateId& state,
                         RpcCaller::Budget& budget) const;
  SequencedReply Close(OpenOwner& owner, const FileHandle& file, const StateId& state,
                       RpcCaller::Budget& budget) const;
  // For an OPEN that was granted but not followed by a handle.
  LookupReply FindOpened(const FileHandle& directory, std::string_view name,
                         const Credential& credential, RpcCaller::Budget& budget) const;

 private:
  template <typename Reply, typename Decode>
  Reply Send(OpenOwner& owner, Compound& compound, RpcCaller::Budget& budget, Decode decode) const;

  RpcCaller& caller_;
  const OwnerNames& owners_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OPEN_CALLS_H_
