#include "nfsclient/nfs3/nfs3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <algorithm>

#include "nfsclient/nfs3/decode.h"
#include "nfsclient/nfs3/encode.h"

namespace nfswalk::protocol {

LimitsReply Nfs3::GetLimits(Budget& budget, const Credential& credential) {
  const auto ask = [&](const Arguments3& arguments, auto decode) {
    return caller_->Call<LimitsReply>(credential, budget, arguments.request(), decode);
  };
  const Arguments3 sizes(NFS3_FSINFO, zdr_FSINFO3args, FSINFO3args{ToWire(root_)});
  LimitsReply reply = ask(sizes, DecodeFsInfo);
  if (reply.error != kOk) return reply;
  const Arguments3 rules(NFS3_PATHCONF, zdr_PATHCONF3args, PATHCONF3args{ToWire(root_)});
  const LimitsReply names = ask(rules, DecodePathConf);
  if (names.error == kOk) {
    reply.limits.name_bytes_max = names.limits.name_bytes_max;
    reply.limits.case_insensitive = names.limits.case_insensitive;
  } else if (names.error == std::errc::timed_out || names.error == std::errc::operation_canceled) {
    reply.error = names.error;
  }  // Otherwise the server has no PATHCONF: the defaults of ServerLimits apply.
  return reply;
}

RootReply Nfs3::GetRoot(const Credential& credential) {
  Budget budget = rpc::Retry::BudgetUntil(mount_deadline_);
  const AttributesReply attributes = GetAttributesWithin(budget, root_, credential);
  if (attributes.error != kOk) return Failure<RootReply>(attributes.error);
  const LimitsReply limits = GetLimits(budget, credential);
  return {limits.error, root_, attributes.attributes, limits.limits};
}

AttributesReply Nfs3::GetAttributes(const FileHandle& file, const Credential& credential) {
  Budget budget = caller_->NewBudget();
  return GetAttributesWithin(budget, file, credential);
}

AttributesReply Nfs3::GetAttributesWithin(Budget& budget, const FileHandle& file,
                                          const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) {
    return Failure<AttributesReply>(error);
  }
  const Arguments3 arguments(NFS3_GETATTR, zdr_GETATTR3args, GETATTR3args{ToWire(file)});
  return Send<AttributesReply>(budget, arguments.request(), credential);
}

LookupReply Nfs3::Lookup(const FileHandle& directory, std::string_view name,
                         const Credential& credential) {
  Budget budget = caller_->NewBudget();
  return LookupWithin(budget, directory, name, credential);
}

LookupReply Nfs3::LookupWithin(Budget& budget, const FileHandle& directory, std::string_view name,
                               const Credential& credential) {
  const WireName wire_name(name);
  if (const std::errc error = CheckWhere(directory, wire_name); error != kOk) {
    return Failure<LookupReply>(error);
  }
  const Arguments3 arguments(NFS3_LOOKUP, zdr_LOOKUP3args,
                             LOOKUP3args{ToWire(directory, wire_name)});
  return Send<LookupReply>(budget, arguments.request(), credential);
}

AccessReply Nfs3::Access(const FileHandle& file, const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) return Failure<AccessReply>(error);
  const Arguments3 arguments(NFS3_ACCESS, zdr_ACCESS3args, ACCESS3args{ToWire(file), kAccessAll});
  return caller_->Call<AccessReply>(credential, arguments.request(), kDecode);
}

SpaceReply Nfs3::GetSpace(const FileHandle& file, const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) return Failure<SpaceReply>(error);
  const Arguments3 arguments(NFS3_FSSTAT, zdr_FSSTAT3args, FSSTAT3args{ToWire(file)});
  return caller_->Call<SpaceReply>(credential, arguments.request(), kDecode);
}

ReadLinkReply Nfs3::ReadLink(const FileHandle& link, const Credential& credential) {
  if (const std::errc error = CheckHandle(link); error != kOk) {
    return Failure<ReadLinkReply>(error);
  }
  const Arguments3 arguments(NFS3_READLINK, zdr_READLINK3args, READLINK3args{ToWire(link)});
  return caller_->Call<ReadLinkReply>(credential, arguments.request(), kDecode);
}

TransportStats Nfs3::transport_stats() const {
  // RFC 1813 3.3, and of NFSACL.
  static constexpr std::string_view kProcedures[] = {
      "NULL",    "GETATTR",     "SETATTR", "LOOKUP", "ACCESS",   "READLINK", "READ",   "WRITE",
      "CREATE",  "MKDIR",       "SYMLINK", "MKNOD",  "REMOVE",   "RMDIR",    "RENAME", "LINK",
      "READDIR", "READDIRPLUS", "FSSTAT",  "FSINFO", "PATHCONF", "COMMIT",   "GETACL", "SETACL"};
  return caller_->Stats(kProcedures);
}

}  // namespace nfswalk::protocol
