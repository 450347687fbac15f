#include "nfsclient/protocol/nfs3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw.h>
// clang-format on

#include <string>

#include "nfsclient/protocol/lost_reply.h"
#include "nfsclient/protocol/nfs3_decode.h"
#include "nfsclient/protocol/nfs3_encode.h"

namespace nfswalk::protocol {
namespace {

using Repeat = RpcCaller::Repeat;

std::errc FirstError(const FileHandle& directory, const WireName& name) {
  return name.error() != kOk ? name.error() : CheckHandle(directory);
}

}  // namespace

CreateReply Nfs3::MakeDirectory(const FileHandle& directory, std::string_view name,
                                const SetAttributes& attributes, const Credential& credential) {
  const WireName wire_name(name);
  std::errc error = FirstError(directory, wire_name);
  if (error == kOk) error = CheckTimes(attributes);
  if (error != kOk) return Failure<CreateReply>(error);

  Budget budget = caller_->NewBudget();
  MKDIR3args args{ToWire(directory, wire_name), ToWire(attributes)};
  return SendUntilOutcomeKnown<CreateReply>(
      std::errc::file_exists,
      [&] {
        return caller_->TryCall<MKDIR3res, CreateReply>(
            credential, Repeat::kNever, budget,
            [&](rpc_context* rpc, ReplyCallback callback, void* data) {
              return rpc_nfs3_mkdir_async(rpc, callback, &args, data);
            },
            kDecode);
      },
      [&] {
        return OutcomeOfCreate(
            LookupWithin(budget, directory, name, credential), [&](const LookupReply& found) {
              return CheckCreated(found, FileType::kDirectory, attributes, credential);
            });
      });
}

CreateReply Nfs3::MakeSymlink(const FileHandle& directory, std::string_view name,
                              std::string_view target, const SetAttributes& attributes,
                              const Credential& credential) {
  const WireName wire_name(name);
  std::errc error = CheckLinkText(target);
  if (error == kOk) error = FirstError(directory, wire_name);
  if (error == kOk) error = CheckTimes(attributes);
  if (error != kOk) return Failure<CreateReply>(error);

  Budget budget = caller_->NewBudget();
  std::string text(target);
  SYMLINK3args args{ToWire(directory, wire_name), {ToWire(attributes), text.data()}};
  return SendUntilOutcomeKnown<CreateReply>(
      std::errc::file_exists,
      [&] {
        return caller_->TryCall<SYMLINK3res, CreateReply>(
            credential, Repeat::kNever, budget,
            [&](rpc_context* rpc, ReplyCallback callback, void* data) {
              return rpc_nfs3_symlink_async(rpc, callback, &args, data);
            },
            kDecode);
      },
      [&] {
        return OutcomeOfCreate(
            LookupWithin(budget, directory, name, credential), [&](const LookupReply& found) {
              return CheckCreatedSymlink(found, target, attributes, credential,
                                         [&] { return ReadLink(found.handle, credential); });
            });
      });
}

LinkReply Nfs3::Link(const FileHandle& file, const FileHandle& directory, std::string_view name,
                     const Credential& credential) {
  const WireName wire_name(name);
  std::errc error = FirstError(directory, wire_name);
  if (error == kOk) error = CheckHandle(file);
  if (error != kOk) return Failure<LinkReply>(error);

  Budget budget = caller_->NewBudget();
  LINK3args args{ToWire(file), ToWire(directory, wire_name)};
  return SendUntilOutcomeKnown<LinkReply>(
      std::errc::file_exists,
      [&] {
        return caller_->TryCall<LINK3res, LinkReply>(
            credential, Repeat::kNever, budget,
            [&](rpc_context* rpc, ReplyCallback callback, void* data) {
              return rpc_nfs3_link_async(rpc, callback, &args, data);
            },
            kDecode);
      },
      [&] { return OutcomeOfLink(LookupWithin(budget, directory, name, credential), file); });
}

RenameReply Nfs3::Rename(const FileHandle& from_directory, std::string_view from_name,
                         const FileHandle& to_directory, std::string_view to_name,
                         const Credential& credential) {
  const WireName from(from_name);
  const WireName to(to_name);
  std::errc error = FirstError(from_directory, from);
  if (error == kOk) error = FirstError(to_directory, to);
  if (error != kOk) return Failure<RenameReply>(error);

  Budget budget = caller_->NewBudget();
  RENAME3args args{ToWire(from_directory, from), ToWire(to_directory, to)};
  return SendUntilOutcomeKnown<RenameReply>(
      std::errc::no_such_file_or_directory,
      [&] {
        return caller_->TryCall<RENAME3res, RenameReply>(
            credential, Repeat::kNever, budget,
            [&](rpc_context* rpc, ReplyCallback callback, void* data) {
              return rpc_nfs3_rename_async(rpc, callback, &args, data);
            },
            kDecode);
      },
      [&] {
        return OutcomeOfRename(LookupWithin(budget, from_directory, from_name, credential), [&] {
          return LookupWithin(budget, to_directory, to_name, credential);
        });
      });
}

RemoveReply Nfs3::Remove(const FileHandle& directory, std::string_view name,
                         const Credential& credential) {
  const WireName wire_name(name);
  if (const std::errc error = FirstError(directory, wire_name); error != kOk) {
    return Failure<RemoveReply>(error);
  }
  Budget budget = caller_->NewBudget();
  REMOVE3args args{ToWire(directory, wire_name)};
  return SendUntilOutcomeKnown<RemoveReply>(
      std::errc::no_such_file_or_directory,
      [&] {
        return caller_->TryCall<REMOVE3res, RemoveReply>(
            credential, Repeat::kNever, budget,
            [&](rpc_context* rpc, ReplyCallback callback, void* data) {
              return rpc_nfs3_remove_async(rpc, callback, &args, data);
            },
            kDecode);
      },
      [&] { return OutcomeOfRemove(LookupWithin(budget, directory, name, credential)); });
}

RemoveReply Nfs3::RemoveDirectory(const FileHandle& directory, std::string_view name,
                                  const Credential& credential) {
  const WireName wire_name(name);
  if (const std::errc error = FirstError(directory, wire_name); error != kOk) {
    return Failure<RemoveReply>(error);
  }
  Budget budget = caller_->NewBudget();
  RMDIR3args args{ToWire(directory, wire_name)};
  return SendUntilOutcomeKnown<RemoveReply>(
      std::errc::no_such_file_or_directory,
      [&] {
        return caller_->TryCall<RMDIR3res, RemoveReply>(
            credential, Repeat::kNever, budget,
            [&](rpc_context* rpc, ReplyCallback callback, void* data) {
              return rpc_nfs3_rmdir_async(rpc, callback, &args, data);
            },
            kDecode);
      },
      [&] { return OutcomeOfRemove(LookupWithin(budget, directory, name, credential)); });
}

SetAttributesReply Nfs3::SetAttributesOf(const FileHandle& file, const SetAttributes& attributes,
                                         const Credential& credential) {
  std::errc error = CheckHandle(file);
  if (error == kOk) error = CheckTimes(attributes);
  if (error != kOk) return Failure<SetAttributesReply>(error);
  SETATTR3args args{};
  args.object = ToWire(file);
  args.new_attributes = ToWire(attributes);
  return caller_->Call<SETATTR3res, SetAttributesReply>(
      credential,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_nfs3_setattr_async(rpc, callback, &args, data);
      },
      kDecode);
}

}  // namespace nfswalk::protocol
