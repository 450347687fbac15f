// POSIX ACLs of version 3: NFSACL, a program beside NFS that Solaris has introduced and Linux has
// (fs/nfs/nfs3acl.c). It has no RFC.
#include "nfsclient/nfs3/nfs3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "nfsclient/nfs3/decode.h"
#include "nfsclient/nfs3/encode.h"
#include "nfsclient/protocol/posix_acl.h"

namespace nfswalk::protocol {
namespace {

constexpr rpc::Request::Program kNfsAcl{NFSACL_PROGRAM, NFSACL_V3};
// In ReplyCounts, behind the procedures of NFS.
constexpr uint32_t kCountsAsGet = NFS3_COMMIT + 1, kCountsAsSet = NFS3_COMMIT + 2;
constexpr size_t kEntryBytes = 3 * sizeof(uint32_t);
constexpr uint32_t kEntriesBytesMax = 2 * kPosixAclEntriesMax * kEntryBytes;

// Returns it as it is sent: with a mask in any case, which Solaris demands, and the ids of owner
// and group.
std::vector<nfsacl_ace> ToWire(const PosixAcl& acl, uint32_t flag, const Attributes& file) {
  std::vector<nfsacl_ace> entries;
  entries.reserve(acl.size() + 1);
  const auto add = [&](uint16_t tag, const PosixAce& ace) {
    const uint32_t id = tag == PosixAce::kUserObj    ? file.uid
                        : tag == PosixAce::kGroupObj ? file.gid
                        : ace.id == PosixAce::kNoId  ? 0
                                                     : ace.id;
    entries.push_back({static_cast<nfsacl_type>(tag | flag), id, ace.rights});
  };
  for (const PosixAce& ace : acl) {
    if (ace.tag == PosixAce::kOther && IsAsMode(acl)) add(PosixAce::kMask, acl[1]);
    add(ace.tag, ace);
  }
  return entries;
}

}  // namespace

AclsReply Nfs3::GetAcls(Budget& budget, const FileHandle& file, const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) return Failure<AclsReply>(error);
  constexpr uint32_t kAll = NFSACL_MASK_ACL_ENTRY | NFSACL_MASK_ACL_COUNT |
                            NFSACL_MASK_ACL_DEFAULT_ENTRY | NFSACL_MASK_ACL_DEFAULT_COUNT;
  Arguments3 arguments(NFSACL3_GETACL, zdr_GETACL3args, GETACL3args{protocol::ToWire(file), kAll},
                       Arguments3::kSmallResultsBytes + kEntriesBytesMax);
  arguments.SetProgram(kNfsAcl, kCountsAsGet);
  AclsReply reply = Send<AclsReply>(budget, arguments.request(), credential);
  // The server has not the program.
  if (reply.error == std::errc::protocol_not_supported) {
    acl_program_is_missing_.store(true);
    reply.error = std::errc::operation_not_supported;
  }
  return reply;
}

XattrReply Nfs3::GetAcl(const FileHandle& file, AclKind kind, const Credential& credential) {
  Budget budget = caller_->NewBudget();
  const AclsReply acls = GetAcls(budget, file, credential);
  if (acls.error != kOk) return Failure<XattrReply>(acls.error);
  const bool is_access = kind == AclKind::kPosixAccess;
  const PosixAcl& acl = is_access ? acls.access : acls.inherited;
  const bool is_told_by_mode = is_access && IsAsMode(acl);
  if (acl.empty() || is_told_by_mode) return Failure<XattrReply>(std::errc::no_message_available);
  return {kOk, PosixAclValue(acl)};
}

// SETACL sets both, so that the other is asked for first (nfs3_set_acl()): a change of that which
// comes in between is lost. Tells no attributes, as Nfs4::SetAcl().
FileChangeReply Nfs3::SetAcl(const FileHandle& file, AclKind kind, std::string_view value,
                             const Credential& credential) {
  std::optional<PosixAcl> acl = ReadPosixAcl(value);
  if (!acl) return Failure<FileChangeReply>(std::errc::invalid_argument);
  if (acl->size() > kPosixAclEntriesMax) {
    return Failure<FileChangeReply>(std::errc::argument_list_too_long);
  }
  Budget budget = caller_->NewBudget();
  AclsReply acls = GetAcls(budget, file, credential);
  if (acls.error != kOk) return Failure<FileChangeReply>(acls.error);
  if (!acls.file) {
    const AttributesReply now = GetAttributesWithin(budget, file, credential);
    if (now.error != kOk) return Failure<FileChangeReply>(now.error);
    acls.file = now.attributes;
  }
  const bool is_directory = acls.file->type == FileType::kDirectory;
  if (kind == AclKind::kPosixAccess) {
    acls.access = std::move(*acl);
  } else if (is_directory) {
    acls.inherited = std::move(*acl);
  } else {
    return Failure<FileChangeReply>(acl->empty() ? kOk : std::errc::permission_denied);
  }
  if (acls.access.empty()) acls.access = PosixAclOf(acls.file->mode);
  std::vector<nfsacl_ace> access = ToWire(acls.access, 0, *acls.file);
  std::vector<nfsacl_ace> inherited = ToWire(acls.inherited, NFSACL_TYPE_DEFAULT, *acls.file);
  const auto size = [](const std::vector<nfsacl_ace>& entries) {
    return static_cast<u_int>(entries.size());
  };
  // Newer kernels leave what is not sent, older ones remove it.
  const uint32_t mask =
      NFSACL_MASK_ACL_ENTRY | (is_directory ? uint32_t{NFSACL_MASK_ACL_DEFAULT_ENTRY} : 0);
  Arguments3 arguments(NFSACL3_SETACL, zdr_SETACL3args,
                       SETACL3args{protocol::ToWire(file),
                                   mask,
                                   size(access),
                                   {size(access), access.data()},
                                   size(inherited),
                                   {size(inherited), inherited.data()}},
                       Arguments3::kSmallResultsBytes,
                       Arguments3::kBytesMax + (access.size() + inherited.size()) * kEntryBytes);
  arguments.SetProgram(kNfsAcl, kCountsAsSet);
  return caller_->Call<FileChangeReply>(credential, budget, arguments.request(), DecodeSetAcl);
}

}  // namespace nfswalk::protocol
