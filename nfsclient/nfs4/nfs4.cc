#include "nfsclient/nfs4/nfs4.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>
#include <utility>

#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {
namespace {

// The rest of a message that has the data of a READ, a WRITE or a READDIR.
constexpr uint32_t kMessageMarginBytes = 4096;

void FitMessages(const CompoundLimits& session, ServerLimits& limits) {
  const uint32_t in = session.response_bytes_max - kMessageMarginBytes;
  const uint32_t out = session.request_bytes_max - kMessageMarginBytes;
  limits.read_bytes_max = std::min(limits.read_bytes_max, in);
  limits.write_bytes_max = std::min(limits.write_bytes_max, out);
  limits.readdir_bytes_max = std::min(Nfs4::kReadDirBytes, in);
}

}  // namespace

RootReply Nfs4::GetRoot(const Credential& credential) {
  Compound compound;
  compound.PutHandle(root_).GetAttributes().GetLimits();
  Budget budget = rpc::Retry::BudgetUntil(mount_deadline_);
  return CallCompound<RootReply>(
      *caller_, compound, credential, budget, [&](CompoundReader& reader, RootReply& reply) {
        ServerAttributes decoded;
        if (reader.Next(OP_PUTFH) && TakeAttributes(reader, owner_names_, reply.attributes)) {
          TakeLimits(reader, decoded);
        }
        reply.error = reader.error();
        reply.handle = root_;
        reply.limits = decoded.limits;
        FitMessages(open_files_->limits(), reply.limits);
      });
}

AttributesReply Nfs4::GetAttributes(const FileHandle& file, const Credential& credential) {
  Budget budget = caller_->NewBudget();
  return GetAttributesWithin(budget, file, credential);
}

AttributesReply Nfs4::GetAttributesWithin(Budget& budget, const FileHandle& file,
                                          const Credential& credential) {
  Compound compound;
  compound.PutHandle(file).GetAttributes();
  return CallCompound<AttributesReply>(*caller_, compound, credential, budget,
                                       [&](CompoundReader& reader, AttributesReply& reply) {
                                         if (reader.Next(OP_PUTFH))
                                           TakeAttributes(reader, owner_names_, reply.attributes);
                                         reply.error = reader.error();
                                       });
}

LookupReply Nfs4::Lookup(const FileHandle& directory, std::string_view name,
                         const Credential& credential) {
  Budget budget = caller_->NewBudget();
  return LookupWithin(budget, directory, name, credential);
}

LookupReply Nfs4::LookupWithin(Budget& budget, const FileHandle& directory, std::string_view name,
                               const Credential& credential) {
  if (const std::errc error = CheckName(name); error != kOk) return Failure<LookupReply>(error);
  Compound compound;
  compound.PutHandle(directory).GetAttributes().Lookup(name).GetHandle().GetAttributes();
  return CallCompound<LookupReply>(
      *caller_, compound, credential, budget, [&](CompoundReader& reader, LookupReply& reply) {
        if (reader.Next(OP_PUTFH)) reply.directory = TakeOptionalAttributes(reader, owner_names_);
        if (reader.Next(OP_LOOKUP) && TakeHandle(reader, reply.handle)) {
          reply.attributes = TakeOptionalAttributes(reader, owner_names_);
        }
        reply.error = reader.error();
        if (reply.error != kOk) reply.handle = {};
      });
}

AccessReply Nfs4::Access(const FileHandle& file, const Credential& credential) {
  Compound compound;
  // The attributes first: rights that change in between are newer than what validates them.
  compound.PutHandle(file).GetAttributes().Access(kAccessAll);
  return Call<AccessReply>(compound, credential, [&](CompoundReader& reader, AccessReply& reply) {
    Attributes attributes;
    if (reader.Next(OP_PUTFH) && TakeAttributes(reader, owner_names_, attributes)) {
      reply.attributes = attributes;
      TakeAccess(reader, reply.granted);
    }
    reply.error = reader.error();
  });
}

SpaceReply Nfs4::GetSpace(const FileHandle& file, const Credential& credential) {
  Compound compound;
  compound.PutHandle(file).GetSpace();
  return Call<SpaceReply>(compound, credential, [&](CompoundReader& reader, SpaceReply& reply) {
    if (reader.Next(OP_PUTFH)) TakeSpace(reader, reply.space);
    reply.error = reader.error();
  });
}

ReadLinkReply Nfs4::ReadLink(const FileHandle& link, const Credential& credential) {
  Compound compound;
  compound.PutHandle(link).ReadLink().GetAttributes();
  return Call<ReadLinkReply>(compound, credential,
                             [&](CompoundReader& reader, ReadLinkReply& reply) {
                               if (reader.Next(OP_PUTFH) && TakeLinkText(reader, reply.target)) {
                                 reply.attributes = TakeOptionalAttributes(reader, owner_names_);
                               }
                               reply.error = reader.error();
                               if (reply.error != kOk) reply.target.clear();
                             });
}

OpenReply Nfs4::Open(const FileHandle& directory, std::string_view name, const FileHandle& file,
                     bool read, bool write, const Credential& credential, AskDelegation ask) {
  if (!name.empty() || !can_open_by_handle()) {
    if (const std::errc error = CheckName(name); error != kOk) return Failure<OpenReply>(error);
  }
  Budget budget = caller_->NewBudget();
  OpenFiles::Opened opened = open_files_->Open({.at = name.empty() ? file : directory,
                                                .name = name,
                                                .read = read,
                                                .write = write,
                                                .ask = ask},
                                               credential, budget);
  if (opened.error == kOk && opened.handle != file) opened.error = kStale;
  if (opened.error != kOk) return Failure<OpenReply>(opened.error);
  return {kOk, std::move(opened.state), opened.attributes, opened.granted,
          std::move(opened.delegation)};
}

// The attributes come behind the delegation, which holds for them. Where the server refuses it, or
// has not sent them, they are asked for alone.
DelegateReply Nfs4::Delegate(const FileHandle& directory, const Credential& credential) {
  struct Answer {
    std::errc error{};
    int status = NFS4_OK;  // of what is no error of the call
    std::optional<DelegationGrant> grant = {};
    DelegateReply reply = {};
  };
  // Before it is known that the server can call.
  const uint64_t epoch = open_files_->delegation_epoch();
  if (!delegates_directories()) return Protocol::Delegate(directory, credential);
  Compound compound;
  compound.PutHandle(directory).DelegateDirectory().GetAttributes();
  Answer answer = Call<Answer>(compound, credential, [&](CompoundReader& reader, Answer& taken) {
    if (!reader.Next(OP_PUTFH)) {
      taken.error = reader.error();
      return;
    }
    if (TakeDirectoryDelegation(reader, taken.grant)) {
      TakeAttributes(reader, owner_names_, taken.reply.attributes);
    } else if (reader.status() == NFS4_OK) {
      taken.status = NFS4ERR_OP_ILLEGAL;  // the result is of another operation, as for one
    }
    if (reader.status() != NFS4_OK) taken.status = reader.status();
    taken.reply.error = reader.error();
  });
  if (answer.error != kOk) return Failure<DelegateReply>(answer.error);
  if (answer.status == NFS4ERR_NOTSUPP || answer.status == NFS4ERR_OP_ILLEGAL) {
    delegate_is_missing_.store(true);
  }
  auto& [error, attributes, delegation] = answer.reply;
  delegation = open_files_->TakeDelegation(answer.grant, epoch, directory, credential);
  if (error == kOk) return std::move(answer.reply);
  delegation = nullptr;  // returns it
  return Protocol::Delegate(directory, credential);
}

TransportStats Nfs4::transport_stats() const {
  TransportStats stats = caller_->Stats(OperationNames());
  stats.delegations = open_files_->delegation_stats();
  return stats;
}

void Nfs4::Shutdown() {
  caller_->Shutdown();
  open_files_->Shutdown();
}

}  // namespace nfswalk::protocol
