#include "nfsclient/protocol/nfs4_open_calls.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include "nfsclient/protocol/nfs4_call.h"

namespace nfswalk::protocol {
namespace {

OptionalAttributes TakeOptional(CompoundReader& reader, const OwnerNames& owners) {
  Attributes attributes;
  if (!TakeAttributes(reader, owners, attributes)) return std::nullopt;
  return attributes;
}

// Sets status and error after the sequenced operation. `done`: it succeeded and was decoded.
void SetStatus(const CompoundReader& reader, bool done, SequencedReply& reply) {
  if (done) return;
  reply.status = reader.status();
  if (reply.status == NFS4_OK) reply.error = std::errc::io_error;
}

}  // namespace

template <typename Reply, typename Decode>
Reply OpenCalls::Send(OpenOwner& owner, Compound& compound, RpcCaller::Budget& budget,
                      Decode decode) const {
  Reply reply = CallCompound<Reply>(caller_, compound, owner.credential, budget, decode);
  if (reply.error == kOk && reply.executed) owner.Executed(reply.status);
  return reply;
}

OpenedReply OpenCalls::Open(OpenOwner& owner, const FileHandle& at, OpenArguments arguments,
                            bool owners_as_names, RpcCaller::Budget& budget) const {
  arguments.owner = owner.name;
  arguments.sequence = owner.sequence;
  Compound compound;
  if (owners_as_names) compound.SendOwnersAsNames(owners_);
  compound.PutHandle(at).SaveHandle().Open(arguments).GetHandle().GetAttributes();
  compound.RestoreHandle().GetAttributes();
  return Send<OpenedReply>(
      owner, compound, budget, [&](CompoundReader& reader, OpenedReply& reply) {
        reply.executed = reader.Next(OP_PUTFH) != nullptr && reader.Next(OP_SAVEFH) != nullptr;
        reply.granted = TakeOpen(reader, reply.grant);
        SetStatus(reader, reply.granted, reply);
        // The file is open: later failures leave parts of the reply out.
        FileHandle handle;
        if (TakeHandle(reader, handle)) reply.handle = handle;
        reply.attributes = TakeOptional(reader, owners_);
        if (reader.Next(OP_RESTOREFH) != nullptr) reply.directory = TakeOptional(reader, owners_);
      });
}

SequencedReply OpenCalls::Confirm(OpenOwner& owner, const FileHandle& file, const StateId& state,
                                  RpcCaller::Budget& budget) const {
  Compound compound;
  compound.PutHandle(file).ConfirmOpen(state, owner.sequence);
  return Send<SequencedReply>(owner, compound, budget,
                              [](CompoundReader& reader, SequencedReply& reply) {
                                reply.executed = reader.Next(OP_PUTFH) != nullptr;
                                SetStatus(reader, TakeConfirmed(reader, reply.state), reply);
                              });
}

SequencedReply OpenCalls::Close(OpenOwner& owner, const FileHandle& file, const StateId& state,
                                RpcCaller::Budget& budget) const {
  Compound compound;
  compound.PutHandle(file).Close(state, owner.sequence);
  return Send<SequencedReply>(owner, compound, budget,
                              [](CompoundReader& reader, SequencedReply& reply) {
                                reply.executed = reader.Next(OP_PUTFH) != nullptr;
                                SetStatus(reader, TakeClosed(reader), reply);
                              });
}

LookupReply OpenCalls::FindOpened(const FileHandle& directory, std::string_view name,
                                  const Credential& credential, RpcCaller::Budget& budget) const {
  Compound compound;
  compound.PutHandle(directory).Lookup(name).GetHandle().GetAttributes();
  return CallCompound<LookupReply>(
      caller_, compound, credential, budget, [&](CompoundReader& reader, LookupReply& reply) {
        const bool found = reader.Next(OP_PUTFH) != nullptr && reader.Next(OP_LOOKUP) != nullptr &&
                           TakeHandle(reader, reply.handle);
        reply.error = found ? kOk : reader.error();
        if (found) reply.attributes = TakeOptional(reader, owners_);
      });
}

}  // namespace nfswalk::protocol
