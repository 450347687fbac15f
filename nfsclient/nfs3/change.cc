#include "nfsclient/nfs3/nfs3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <string>

#include "nfsclient/nfs3/decode.h"
#include "nfsclient/nfs3/encode.h"
#include "nfsclient/rpc/lost_reply.h"
#include "nfsclient/rpc/operation.h"

namespace nfswalk::protocol {

namespace {

// RFC 1813 3.3.11: each type has its own arm.
mknoddata3 ToWire(FileType type, Device device, const SetAttributes& attributes) {
  mknoddata3 data{};
  auto& arm = data.mknoddata3_u;
  const specdata3 numbers{device.major, device.minor};
  switch (type) {
    case FileType::kCharacterDevice:
      data.type = NF3CHR;
      arm.chr_device = {ToWire(attributes), numbers};
      break;
    case FileType::kBlockDevice:
      data.type = NF3BLK;
      arm.blk_device = {ToWire(attributes), numbers};
      break;
    case FileType::kSocket:
      data.type = NF3SOCK;
      arm.sock_attributes = ToWire(attributes);
      break;
    default:
      data.type = NF3FIFO;
      arm.pipe_attributes = ToWire(attributes);
  }
  return data;
}

class SetAttributesPiece {
 public:
  SetAttributesPiece(const FileHandle& file, const SetAttributes& attributes)
      : arguments_(NFS3_SETATTR, zdr_SETATTR3args,
                   SETATTR3args{ToWire(file), ToWire(attributes), {}}) {}
  const rpc::Request& request() const { return arguments_.request(); }
  void Decode(rpc::XdrReader& in, FileChangeReply& reply) const { DecodeReply(in, reply); }

 private:
  const Arguments3 arguments_;
};

std::errc CheckSetAttributes(const FileHandle& file, const SetAttributes& attributes) {
  const std::errc error = CheckHandle(file);
  return error == kOk ? CheckTimes(attributes) : error;
}

}  // namespace

CreateReply Nfs3::MakeDirectory(const FileHandle& directory, std::string_view name,
                                const SetAttributes& attributes, const Credential& credential) {
  const WireName wire_name(name);
  std::errc error = CheckWhere(directory, wire_name);
  if (error == kOk) error = CheckTimes(attributes);
  if (error != kOk) return Failure<CreateReply>(error);

  Budget budget = caller_->NewBudget();
  const Arguments3 arguments(NFS3_MKDIR, zdr_MKDIR3args,
                             MKDIR3args{ToWire(directory, wire_name), ToWire(attributes)});
  return Send<CreateReply>(budget, arguments.request(), credential);
}

CreateReply Nfs3::MakeSymlink(const FileHandle& directory, std::string_view name,
                              std::string_view target, const SetAttributes& attributes,
                              const Credential& credential) {
  const WireName wire_name(name);
  std::errc error = CheckLinkText(target);
  if (error == kOk) error = CheckWhere(directory, wire_name);
  if (error == kOk) error = CheckTimes(attributes);
  if (error != kOk) return Failure<CreateReply>(error);

  Budget budget = caller_->NewBudget();
  std::string text(target);
  const Arguments3 arguments(
      NFS3_SYMLINK, zdr_SYMLINK3args,
      SYMLINK3args{ToWire(directory, wire_name), {ToWire(attributes), text.data()}},
      Arguments3::kSmallResultsBytes, Arguments3::kBytesMax + kLinkBytesMax);
  return Send<CreateReply>(budget, arguments.request(), credential);
}

CreateReply Nfs3::MakeNode(const FileHandle& directory, std::string_view name, FileType type,
                           Device device, const SetAttributes& attributes,
                           const Credential& credential) {
  const WireName wire_name(name);
  std::errc error = CheckWhere(directory, wire_name);
  if (error == kOk) error = CheckTimes(attributes);
  if (error != kOk) return Failure<CreateReply>(error);

  Budget budget = caller_->NewBudget();
  const Arguments3 arguments(
      NFS3_MKNOD, zdr_MKNOD3args,
      MKNOD3args{ToWire(directory, wire_name), ToWire(type, device, attributes)});
  return Send<CreateReply>(budget, arguments.request(), credential);
}

LinkReply Nfs3::Link(const FileHandle& file, const FileHandle& directory, std::string_view name,
                     const Credential& credential) {
  const WireName wire_name(name);
  std::errc error = CheckWhere(directory, wire_name);
  if (error == kOk) error = CheckHandle(file);
  if (error != kOk) return Failure<LinkReply>(error);

  Budget budget = caller_->NewBudget();
  const Arguments3 arguments(NFS3_LINK, zdr_LINK3args,
                             LINK3args{ToWire(file), ToWire(directory, wire_name)});
  return Send<LinkReply>(budget, arguments.request(), credential);
}

RenameReply Nfs3::Rename(const FileHandle& from_directory, std::string_view from_name,
                         const FileHandle& to_directory, std::string_view to_name,
                         const std::optional<KnownObject>& known, const Credential& credential) {
  const WireName from(from_name);
  const WireName to(to_name);
  std::errc error = CheckWhere(from_directory, from);
  if (error == kOk) error = CheckWhere(to_directory, to);
  if (error != kOk) return Failure<RenameReply>(error);

  Budget budget = caller_->NewBudget();
  const Arguments3 arguments(NFS3_RENAME, zdr_RENAME3args,
                             RENAME3args{ToWire(from_directory, from), ToWire(to_directory, to)});
  return SendOnce<RenameReply>(
      budget, arguments.request(), credential, std::errc::no_such_file_or_directory,
      [&](LookedUp when) {
        return OutcomeOfRename(
            when, known,
            [&] { return LookupWithin(budget, from_directory, from_name, credential); },
            [&] { return LookupWithin(budget, to_directory, to_name, credential); });
      });
}

RemoveReply Nfs3::RemoveObject(bool is_directory, const FileHandle& directory,
                               std::string_view name, const std::optional<KnownObject>& known,
                               const Credential& credential) {
  const WireName wire_name(name);
  if (const std::errc error = CheckWhere(directory, wire_name); error != kOk) {
    return Failure<RemoveReply>(error);
  }
  Budget budget = caller_->NewBudget();
  const auto send = [&](const Arguments3& arguments) {
    return SendOnce<RemoveReply>(
        budget, arguments.request(), credential, std::errc::no_such_file_or_directory,
        [&](LookedUp when) {
          return OutcomeOfRemove(
              when, known, [&] { return LookupWithin(budget, directory, name, credential); },
              [&] { return GetAttributesWithin(budget, known->handle, credential); });
        });
  };
  const diropargs3 where = ToWire(directory, wire_name);
  if (is_directory) return send(Arguments3(NFS3_RMDIR, zdr_RMDIR3args, RMDIR3args{where}));
  return send(Arguments3(NFS3_REMOVE, zdr_REMOVE3args, REMOVE3args{where}));
}

FileChangeReply Nfs3::SetAttributesOf(const FileHandle& file, const SetAttributes& attributes,
                                      const Credential& credential) {
  const std::errc error = CheckSetAttributes(file, attributes);
  if (error != kOk) return Failure<FileChangeReply>(error);
  const SetAttributesPiece piece(file, attributes);
  return caller_->Call<FileChangeReply>(credential, piece.request(), kDecode);
}

FileChangeInFlight Nfs3::StartSetAttributes(const FileHandle& file, const SetAttributes& attributes,
                                            const Credential& credential) {
  const std::errc error = CheckSetAttributes(file, attributes);
  if (error != kOk) {
    return std::make_unique<Ended<FileChangeReply>>(Failure<FileChangeReply>(error));
  }
  return rpc::StartOperation<rpc::PieceOperation<SetAttributesPiece>, FileChangeReply>(
      *caller_, credential, file, attributes);
}

}  // namespace nfswalk::protocol
