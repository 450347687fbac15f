// nfs4_open_calls: OPEN, OPEN_CONFIRM and CLOSE (RFC 7530 16.16, 16.18, 16.2), one COMPOUND each,
// with an owner's sequence number.
//
// A call without a reply is retransmitted with the same number, which the server executes once (RFC
// 7530 9.1.9), until the budget ends. If it never gets a reply that parses, the caller must drop
// the owner. No status is retried here: most advance the sequence, DELAY and GRACE too.
//
// Thread safety: all functions; an owner is used by one thread at a time.
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
  // No reply (errors of rpc_retry.h), or a malformed one (io_error).
  std::errc error{};
  // nfsstat4 if error is errc{}.
  int status = 0;
  // The operation with the sequence number was executed, with any status.
  bool executed = false;
  StateId state;  // OPEN_CONFIRM
};

struct OpenedReply : SequencedReply {
  bool granted = false;  // the members below are valid, as far as sent
  OpenGrant grant;
  std::optional<FileHandle> handle;
  OptionalAttributes attributes;
  OptionalAttributes directory;  // after the OPEN
};

class OpenCalls {
 public:
  // `caller` and `owners` must outlive it.
  OpenCalls(RpcCaller& caller, const OwnerNames& owners) : caller_(caller), owners_(owners) {}

  // `at`: the directory, or the file if arguments.reclaim. Fills in owner and sequence of
  // `arguments`. `owners_as_names`: encodes owners in the attributes as names.
  OpenedReply Open(OpenOwner& owner, const FileHandle& at, OpenArguments arguments,
                   bool owners_as_names, RpcCaller::Budget& budget) const;
  SequencedReply Confirm(OpenOwner& owner, const FileHandle& file, const StateId& state,
                         RpcCaller::Budget& budget) const;
  SequencedReply Close(OpenOwner& owner, const FileHandle& file, const StateId& state,
                       RpcCaller::Budget& budget) const;
  // Looks up the file of an OPEN that was granted without a handle.
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
