#include "nfsclient/protocol/nfs4.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>
#include <utility>

#include "nfsclient/protocol/internal_errors.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {
namespace {

// maxcount of READDIR. 10,000 entries take 6 to 8 calls; more is not faster (nfs-ganesha 4.3).
constexpr uint32_t kReadDirBytes = 256 * 1024;
// Data of a WRITE: libnfs encodes a call into 4096 bytes.
constexpr uint32_t kWriteBytesMax = 3 * 1024;

// A reply and the nfsstat4 of its error.
template <typename Reply>
struct WithStatus : Reply {
  int status = 0;
};

// Returns whether PUTFH, the first operation, succeeded.
bool TakePutHandle(CompoundReader& reader) { return reader.Next(OP_PUTFH) != nullptr; }

// Takes the directory's attributes. A failure is left to the operations that follow.
void TakeDirectory(CompoundReader& reader, const OwnerNames& owners,
                   OptionalAttributes& directory) {
  Attributes attributes;
  if (TakeAttributes(reader, owners, attributes)) directory = attributes;
}

}  // namespace

RootReply Nfs4::GetRoot(const Credential& credential) {
  Compound compound;
  compound.PutHandle(root_).GetAttributes().GetLimits();
  Budget budget = RpcRetry::BudgetUntil(mount_deadline_);
  return CallCompound<RootReply>(
      *caller_, compound, credential, budget, [&](CompoundReader& reader, RootReply& reply) {
        ServerAttributes decoded;
        if (TakePutHandle(reader) && TakeAttributes(reader, owners_, reply.attributes)) {
          TakeLimits(reader, decoded);
        }
        reply.error = reader.error();
        reply.handle = root_;
        reply.limits = decoded.limits;
        reply.limits.write_bytes_max = std::min(reply.limits.write_bytes_max, kWriteBytesMax);
        reply.limits.readdir_bytes_max = kReadDirBytes;
      });
}

AttributesReply Nfs4::GetAttributes(const FileHandle& file, const Credential& credential) {
  Compound compound;
  compound.PutHandle(file).GetAttributes();
  return Call<AttributesReply>(compound, credential,
                               [&](CompoundReader& reader, AttributesReply& reply) {
                                 if (TakePutHandle(reader))
                                   TakeAttributes(reader, owners_, reply.attributes);
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
        if (TakePutHandle(reader)) TakeDirectory(reader, owners_, reply.directory);
        Attributes attributes;
        if (reader.Next(OP_LOOKUP) != nullptr && TakeHandle(reader, reply.handle) &&
            TakeAttributes(reader, owners_, attributes)) {
          reply.attributes = attributes;
        }
        reply.error = reader.error();
      });
}

AccessReply Nfs4::Access(const FileHandle& file, const Credential& credential) {
  Compound compound;
  // The attributes first: rights that change in between are newer than what validates them.
  compound.PutHandle(file).GetAttributes().Access(kAccessAll);
  return Call<AccessReply>(compound, credential, [&](CompoundReader& reader, AccessReply& reply) {
    Attributes attributes;
    if (TakePutHandle(reader) && TakeAttributes(reader, owners_, attributes)) {
      reply.attributes = attributes;
      TakeAccess(reader, reply.granted);
    }
    reply.error = reader.error();
  });
}

ReadLinkReply Nfs4::ReadLink(const FileHandle& link, const Credential& credential) {
  Compound compound;
  compound.PutHandle(link).ReadLink().GetAttributes();
  return Call<ReadLinkReply>(compound, credential,
                             [&](CompoundReader& reader, ReadLinkReply& reply) {
                               Attributes attributes;
                               if (TakePutHandle(reader) && TakeLinkText(reader, reply.target) &&
                                   TakeAttributes(reader, owners_, attributes)) {
                                 reply.attributes = attributes;
                               }
                               reply.error = reader.error();
                             });
}

OpenReply Nfs4::Open(const FileHandle& directory, std::string_view name, const FileHandle& file,
                     bool read, bool write, const Credential& credential) {
  if (const std::errc error = CheckName(name); error != kOk) return Failure<OpenReply>(error);
  Budget budget = caller_->NewBudget();
  Nfs4Opens::Opened opened = opens_.Open(
      {.directory = directory, .name = name, .read = read, .write = write}, credential, budget);
  if (opened.error == kOk && opened.handle != file) opened.error = kStale;
  if (opened.error != kOk) return Failure<OpenReply>(opened.error);
  return {kOk, std::move(opened.state), opened.attributes};
}

ReadReply Nfs4::Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                     const OpenState* state, const Credential& credential) {
  into = into.first(std::min<size_t>(into.size(), kTransferBytesMax));
  Budget budget = caller_->NewBudget();
  for (;;) {
    const StateId used = Nfs4Opens::StateOf(state);
    Compound compound;
    compound.PutHandle(file)
        .Read(used, offset_bytes, static_cast<uint32_t>(into.size()))
        .GetAttributes();
    WithStatus<ReadReply> reply = CallCompound<WithStatus<ReadReply>>(
        *caller_, compound, credential, budget,
        [&](CompoundReader& reader, WithStatus<ReadReply>& read) {
          Attributes attributes;
          if (TakePutHandle(reader) && TakeRead(reader, into, read) &&
              TakeAttributes(reader, owners_, attributes)) {
            read.attributes = attributes;
          }
          read.error = reader.error();
          read.status = reader.status();
        });
    if (reply.error == kOk || state == nullptr || reply.status == 0) return reply;
    const std::errc error = opens_.Recover(state, used, reply.status, budget);
    if (error != kOk) return Failure<ReadReply>(error);
  }
}

WriteReply Nfs4::Write(const FileHandle& file, uint64_t offset_bytes,
                       std::span<const std::byte> data, const OpenState* state,
                       const Credential& credential) {
  data = data.first(std::min<size_t>(data.size(), kWriteBytesMax));
  Budget budget = caller_->NewBudget();
  for (;;) {
    const StateId used = Nfs4Opens::StateOf(state);
    Compound compound;
    compound.PutHandle(file).GetAttributes().Write(used, offset_bytes, data).GetAttributes();
    WithStatus<WriteReply> reply = CallCompound<WithStatus<WriteReply>>(
        *caller_, compound, credential, budget,
        [&](CompoundReader& reader, WithStatus<WriteReply>& written) {
          Attributes before;
          Attributes after;
          if (TakePutHandle(reader) && TakeAttributes(reader, owners_, before) &&
              TakeWrite(reader, data.size(), written.count_bytes)) {
            written.file.before = PreOpAttributes{.change = before.change};
            if (TakeAttributes(reader, owners_, after)) written.file.after = after;
          } else {
            written.error = reader.error();
            written.status = reader.status();
          }
        });
    if (reply.error == kOk || state == nullptr || reply.status == 0) return reply;
    const std::errc error = opens_.Recover(state, used, reply.status, budget);
    if (error != kOk) return Failure<WriteReply>(error);
  }
}

ReadDirReply Nfs4::ReadDir(const FileHandle& directory, ReadDirPosition position, bool plus,
                           const Credential& credential) {
  Compound compound;
  compound.PutHandle(directory).GetAttributes().ReadDir(position, kReadDirBytes, plus);
  ReadDirReply reply =
      Call<ReadDirReply>(compound, credential, [&](CompoundReader& reader, ReadDirReply& listed) {
        if (TakePutHandle(reader)) TakeDirectory(reader, owners_, listed.directory);
        TakeEntries(reader, owners_, position, listed);
        listed.error = reader.error();
      });
  if (reply.error == std::errc::no_such_file_or_directory) reply.error = kStale;
  if (reply.error != kTooSmall) return reply;
  // TOOSMALL: an entry may fit without its attributes and handle.
  return plus ? ReadDir(directory, position, false, credential)
              : Failure<ReadDirReply>(std::errc::io_error);
}

void Nfs4::Shutdown() {
  caller_->Shutdown();
  opens_.Shutdown();
}

}  // namespace nfswalk::protocol
