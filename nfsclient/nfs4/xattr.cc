// Extended attributes (RFC 8276) of version 4.2, and ACLs, which are one to the user.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "nfsclient/nfs4/acl.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/internal_errors.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

namespace nfswalk::protocol {
namespace {

// Exceeds what a session's messages have beside the operations and the data.
constexpr uint32_t kHeadBytes = 1024;

auto ReadsXattrChange(int operation, const OwnerNames& owners) {
  return [operation, &owners](CompoundReader& reader, FileChangeReply& reply) {
    ChangeInfo change;
    if (reader.Next(OP_PUTFH) && TakeXattrChange(reader, operation, change)) {
      reply.file = Consistency(change, TakeOptionalAttributes(reader, owners));
    } else {
      reply.error = reader.error();
    }
  };
}

}  // namespace

// A file system without them says NFS4ERR_NOTSUPP.
void Nfs4::NoteXattrStatus(int status) {
  if (status == NFS4ERR_OP_ILLEGAL) xattrs_are_missing_.store(true);
}

XattrReply Nfs4::GetXattr(const FileHandle& file, std::string_view name,
                          const Credential& credential) {
  if (!has_xattrs()) return Failure<XattrReply>(std::errc::operation_not_supported);
  Compound compound;
  compound.PutHandle(file).GetXattr(name);
  Budget budget = caller_->NewBudget();
  return CallCompound<XattrReply>(*caller_, compound, credential, budget,
                                  [this](CompoundReader& reader, XattrReply& reply) {
                                    reader.Next(OP_PUTFH);
                                    TakeXattr(reader, reply.value);
                                    reply.error = reader.error();
                                    NoteXattrStatus(reader.status());
                                  });
}

// As many calls as the server needs, whose reply may be shorter than asked for.
XattrNamesReply Nfs4::ListXattrs(const FileHandle& file, const Credential& credential) {
  if (!has_xattrs()) return Failure<XattrNamesReply>(std::errc::operation_not_supported);
  struct ListReply {
    std::errc error{};
    XattrList list;
  };
  const auto bytes_max = std::min<uint32_t>(kXattrNamesBytesMax,
                                            open_files_->limits().response_bytes_max - kHeadBytes);
  XattrNamesReply all;
  Budget budget = caller_->NewBudget();
  uint64_t cookie = 0;
  size_t bytes = 0;
  for (bool eof = false; !eof;) {
    Compound compound;
    compound.PutHandle(file).ListXattrs(cookie, bytes_max);
    auto part = CallCompound<ListReply>(*caller_, compound, credential, budget,
                                        [this](CompoundReader& reader, ListReply& reply) {
                                          reader.Next(OP_PUTFH);
                                          TakeXattrNames(reader, reply.list);
                                          reply.error = reader.error();
                                          NoteXattrStatus(reader.status());
                                        });
    eof = part.list.eof;
    if (part.error == kOk && !eof && part.list.names.empty()) part.error = std::errc::io_error;
    for (std::string& name : part.list.names) {
      bytes += name.size() + 1;
      all.names.push_back(std::move(name));
    }
    if (bytes > kXattrNamesBytesMax) part.error = std::errc::argument_list_too_long;
    if (part.error != kOk) return Failure<XattrNamesReply>(part.error);
    cookie = part.list.cookie;
  }
  return all;
}

// A repetition in another session may meet what the first one has set: EEXIST with kCreate, as of a
// MKDIR.
FileChangeReply Nfs4::SetXattr(const FileHandle& file, std::string_view name,
                               std::string_view value, XattrMode how,
                               const Credential& credential) {
  if (!has_xattrs()) return Failure<FileChangeReply>(std::errc::operation_not_supported);
  Compound compound;
  compound.PutHandle(file).SetXattr(name, value, how).GetAttributes();
  if (compound.encoded_bytes() + kHeadBytes > open_files_->limits().request_bytes_max) {
    return Failure<FileChangeReply>(std::errc::argument_list_too_long);
  }
  Budget budget = caller_->NewBudget();
  return CallCompound<FileChangeReply>(*caller_, compound, credential, budget,
                                       ReadsXattrChange(kOpSetXattr, owner_names_));
}

// The repetition finds nothing where the first one was executed.
FileChangeReply Nfs4::RemoveXattr(const FileHandle& file, std::string_view name,
                                  const Credential& credential) {
  if (!has_xattrs()) return Failure<FileChangeReply>(std::errc::operation_not_supported);
  Compound compound;
  compound.PutHandle(file).RemoveXattr(name).GetAttributes();
  Budget budget = caller_->NewBudget();
  return CallOnce<FileChangeReply>(
      compound, credential, budget, ReadsXattrChange(kOpRemoveXattr, owner_names_),
      std::errc::no_message_available, [](LookedUp when) {
        const bool is_done = when == LookedUp::kAfterError;
        return is_done ? std::optional(FileChangeReply()) : std::nullopt;
      });
}

XattrReply Nfs4::GetAcl(const FileHandle& file, AclKind, const Credential& credential) {
  Compound compound;
  compound.PutHandle(file).GetAcl();
  return Call<XattrReply>(compound, credential, [](CompoundReader& reader, XattrReply& reply) {
    reader.Next(OP_PUTFH);
    std::optional<std::string> acl;
    TakeAcl(reader, acl);
    reply.error = reader.error();
    if (reply.error != kOk) return;
    if (!acl) {
      reply.error = std::errc::operation_not_supported;
    } else if (acl->size() > kXattrValueBytesMax) {
      reply.error = std::errc::argument_list_too_long;
    } else {
      reply.value = std::move(*acl);
    }
  });
}

// Tells no attributes: all that is known of the file, its rights above all, is asked for again
// then. An ACL may change these where the mode, and the time of the change, stay as they were.
FileChangeReply Nfs4::SetAcl(const FileHandle& file, AclKind, std::string_view acl,
                             const Credential& credential) {
  if (!ReadAcl(acl)) return Failure<FileChangeReply>(std::errc::invalid_argument);
  Compound compound;
  compound.PutHandle(file).SetAcl(acl);
  if (compound.encoded_bytes() + kHeadBytes > open_files_->limits().request_bytes_max) {
    return Failure<FileChangeReply>(std::errc::argument_list_too_long);
  }
  return Call<FileChangeReply>(compound, credential,
                               [](CompoundReader& reader, FileChangeReply& reply) {
                                 if (reader.Next(OP_PUTFH)) reader.Next(OP_SETATTR);
                                 reply.error = reader.error();
                               });
}

}  // namespace nfswalk::protocol
