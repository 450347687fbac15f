#include "nfsclient/protocol/nfs3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw.h>
// clang-format on

#include <algorithm>

#include "nfsclient/protocol/nfs3_decode.h"
#include "nfsclient/protocol/nfs3_encode.h"

namespace nfswalk::protocol {

LimitsReply Nfs3::GetLimits(Budget& budget, const Credential& credential) {
  FSINFO3args info_args{ToWire(root_)};
  LimitsReply reply = *caller_->TryCall<FSINFO3res, LimitsReply>(
      credential, RpcCaller::Repeat::kIdempotent, budget,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_nfs3_fsinfo_async(rpc, callback, &info_args, data);
      },
      kDecode);
  if (reply.error != kOk) return reply;
  PATHCONF3args names_args{ToWire(root_)};
  const LimitsReply names = *caller_->TryCall<PATHCONF3res, LimitsReply>(
      credential, RpcCaller::Repeat::kIdempotent, budget,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_nfs3_pathconf_async(rpc, callback, &names_args, data);
      },
      kDecode);
  if (names.error == kOk) {
    reply.limits.name_bytes_max = names.limits.name_bytes_max;
    reply.limits.case_insensitive = names.limits.case_insensitive;
  } else if (names.error == std::errc::timed_out || names.error == std::errc::operation_canceled) {
    reply.error = names.error;
  }  // Otherwise the server has no PATHCONF: the defaults of ServerLimits apply.
  return reply;
}

RootReply Nfs3::GetRoot(const Credential& credential) {
  Budget budget = RpcRetry::BudgetUntil(mount_deadline_);
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
  GETATTR3args args{ToWire(file)};
  return *caller_->TryCall<GETATTR3res, AttributesReply>(
      credential, RpcCaller::Repeat::kIdempotent, budget,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_nfs3_getattr_async(rpc, callback, &args, data);
      },
      kDecode);
}

LookupReply Nfs3::Lookup(const FileHandle& directory, std::string_view name,
                         const Credential& credential) {
  Budget budget = caller_->NewBudget();
  return LookupWithin(budget, directory, name, credential);
}

LookupReply Nfs3::LookupWithin(Budget& budget, const FileHandle& directory, std::string_view name,
                               const Credential& credential) {
  const WireName wire_name(name);
  if (wire_name.error() != kOk) return Failure<LookupReply>(wire_name.error());
  if (const std::errc error = CheckHandle(directory); error != kOk) {
    return Failure<LookupReply>(error);
  }
  LOOKUP3args args{ToWire(directory, wire_name)};
  return *caller_->TryCall<LOOKUP3res, LookupReply>(
      credential, RpcCaller::Repeat::kIdempotent, budget,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_nfs3_lookup_async(rpc, callback, &args, data);
      },
      kDecode);
}

AccessReply Nfs3::Access(const FileHandle& file, const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) return Failure<AccessReply>(error);
  ACCESS3args args{ToWire(file), kAccessAll};
  return caller_->Call<ACCESS3res, AccessReply>(
      credential,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_nfs3_access_async(rpc, callback, &args, data);
      },
      kDecode);
}

ReadLinkReply Nfs3::ReadLink(const FileHandle& link, const Credential& credential) {
  if (const std::errc error = CheckHandle(link); error != kOk) {
    return Failure<ReadLinkReply>(error);
  }
  READLINK3args args{ToWire(link)};
  return caller_->Call<READLINK3res, ReadLinkReply>(
      credential,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_nfs3_readlink_async(rpc, callback, &args, data);
      },
      kDecode);
}

ReadReply Nfs3::Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                     const OpenState*, const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) return Failure<ReadReply>(error);
  into = into.first(std::min<size_t>(into.size(), kTransferBytesMax));
  READ3args args{ToWire(file), offset_bytes, static_cast<count3>(into.size())};
  return caller_->Call<READ3res, ReadReply>(
      credential,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_nfs3_read_async(rpc, callback, &args, data);
      },
      [&](const READ3res& wire, ReadReply& reply) { DecodeReply(wire, into, reply); });
}

WriteReply Nfs3::Write(const FileHandle& file, uint64_t offset_bytes,
                       std::span<const std::byte> data, const OpenState*,
                       const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) return Failure<WriteReply>(error);
  data = data.first(std::min<size_t>(data.size(), kTransferBytesMax));
  WRITE3args args{};
  args.file = ToWire(file);
  args.offset = offset_bytes;
  args.count = static_cast<count3>(data.size());
  args.stable = FILE_SYNC;
  args.data.data_len = args.count;
  args.data.data_val = const_cast<char*>(reinterpret_cast<const char*>(data.data()));
  return caller_->Call<WRITE3res, WriteReply>(
      credential,
      [&](rpc_context* rpc, ReplyCallback callback, void* pd) {
        return rpc_nfs3_write_async(rpc, callback, &args, pd);
      },
      [&](const WRITE3res& wire, WriteReply& reply) { DecodeReply(wire, data.size(), reply); });
}

}  // namespace nfswalk::protocol
