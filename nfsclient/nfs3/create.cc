// CREATE: safe to repeat if UNCHECKED or EXCLUSIVE, else as lost_reply.h says.
#include "nfsclient/nfs3/nfs3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <cstring>

#include "nfsclient/nfs3/decode.h"
#include "nfsclient/nfs3/encode.h"
#include "nfsclient/rpc/lost_reply.h"

namespace nfswalk::protocol {

CreateReply Nfs3::Create(const FileHandle& directory, std::string_view name, CreateMode how,
                         const SetAttributes& attributes, const Credential& credential) {
  const WireName wire_name(name);
  std::errc error = CheckWhere(directory, wire_name);
  if (error == kOk) error = CheckTimes(attributes);
  if (error != kOk) return Failure<CreateReply>(error);
  CREATE3args args{};
  args.where = ToWire(directory, wire_name);
  Budget budget = caller_->NewBudget();
  const auto send = [&] {
    const Arguments3 arguments(NFS3_CREATE, zdr_CREATE3args, args);
    return Send<CreateReply>(budget, arguments.request(), credential);
  };
  if (how == CreateMode::kUnchecked) {
    args.how.mode = UNCHECKED;
    args.how.createhow3_u.obj_attributes = ToWire(attributes);
    return send();
  }
  if (how == CreateMode::kGuarded) {
    const uint64_t verifier = NewExclusiveVerifier();
    args.how.mode = EXCLUSIVE;
    static_assert(sizeof args.how.createhow3_u.verf == sizeof verifier);
    std::memcpy(args.how.createhow3_u.verf, &verifier, sizeof verifier);
    CreateReply reply = send();
    if (reply.error == kOk)
      return FinishExclusive(reply, budget, directory, name, attributes, credential);
    if (reply.error != std::errc::operation_not_supported) return reply;
  }
  args.how.mode = GUARDED;
  args.how.createhow3_u.g_obj_attributes = ToWire(attributes);
  const Arguments3 guarded(NFS3_CREATE, zdr_CREATE3args, args);
  return Send<CreateReply>(budget, guarded.request(), credential);
}

// Sets the attributes of a file created EXCLUSIVE, and its times, where most servers store the
// verifier.
CreateReply Nfs3::FinishExclusive(CreateReply created, Budget& budget, const FileHandle& directory,
                                  std::string_view name, SetAttributes attributes,
                                  const Credential& credential) {
  if (!created.handle) {
    const LookupReply found = LookupWithin(budget, directory, name, credential);
    if (found.error != kOk) return Failure<CreateReply>(found.error);
    created.handle = found.handle;
  }
  if (!attributes.atime) attributes.atime.emplace();
  if (!attributes.mtime) attributes.mtime.emplace();
  const FileChangeReply set = SetAttributesOf(*created.handle, attributes, credential);
  if (set.error == kOk) {
    created.attributes = set.file.after;
    LeaveOutForeign(created.attributes, created.directory.after);
    return created;
  }
  // Leaves no file with other attributes than requested. If it is stale, the name may lead to
  // another client's file.
  if (set.error != std::errc::timed_out && set.error != std::errc::operation_canceled &&
      set.error != kStale) {
    (void)Remove(directory, name, std::nullopt, credential);
  }
  return Failure<CreateReply>(set.error);
}

}  // namespace nfswalk::protocol
