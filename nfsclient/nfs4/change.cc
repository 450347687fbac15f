// Operations that change directories and files. Each COMPOUND also reads the attributes afterwards;
// the reply's error is that of the change alone.
#include "nfsclient/nfs4/nfs4.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/internal_errors.h"
#include "nfsclient/rpc/lost_reply.h"
#include "nfsclient/rpc/operation.h"

namespace nfswalk::protocol {

namespace {

constexpr uint64_t AttributeBit(int attribute) { return uint64_t{1} << attribute; }
constexpr uint64_t kTimesOfVerifier =
    AttributeBit(FATTR4_TIME_ACCESS) | AttributeBit(FATTR4_TIME_MODIFY);

// SETATTR, with owners as names once the server has refused numbers.
class SetAttributesOperation {
 public:
  SetAttributesOperation(const FileHandle& file, const SetAttributes& attributes,
                         const OwnerNames& owners, std::atomic<bool>& owners_as_names)
      : file_(file),
        attributes_(attributes),
        owner_names_(owners),
        owners_as_names_(owners_as_names) {}

  std::errc Encode() {
    bad_owner_ = false;
    sends_names_ = owners_as_names_.load();
    Compound& compound = compound_.emplace();
    if (sends_names_) compound.SendOwnersAsNames(owner_names_);
    compound.PutHandle(file_).GetAttributes().SetAttributesOf({}, attributes_).GetAttributes();
    request_ = compound.Encode();
    return kOk;
  }
  const rpc::Request& request() const { return request_; }
  void Decode(rpc::XdrReader& in, FileChangeReply& reply) {
    CompoundReader reader(in);
    Attributes before;
    if (reader.Next(OP_PUTFH) && TakeAttributes(reader, owner_names_, before) &&
        reader.Next(OP_SETATTR)) {
      // Not atomic for a directory: its names may have changed between the two operations.
      reply.file = {PreOpAttributes{.change = before.change},
                    TakeOptionalAttributes(reader, owner_names_),
                    before.type != FileType::kDirectory};
      return;
    }
    reply.error = reader.error();
    bad_owner_ = reader.status() == NFS4ERR_BADOWNER;
  }
  bool CanRecover() const { return bad_owner_ && !sends_names_; }
  std::errc Recover(rpc::Caller::Budget&) {
    owners_as_names_.store(true);
    return kOk;
  }

 private:
  const FileHandle file_;
  const SetAttributes attributes_;
  const OwnerNames& owner_names_;
  std::atomic<bool>& owners_as_names_;
  std::optional<Compound> compound_;
  rpc::Request request_;
  bool sends_names_ = false;
  bool bad_owner_ = false;
};

}  // namespace

// Creates an object that is not a regular file. `build(compound)` adds CREATE.
template <typename Build>
CreateReply Nfs4::CreateObject(const FileHandle& directory, const Credential& credential,
                               Build build) {
  Compound compound;
  if (owners_as_names_.load()) compound.SendOwnersAsNames(owner_names_);
  compound.PutHandle(directory);
  build(compound);
  compound.GetHandle().GetAttributes().PutHandle(directory).GetAttributes();
  return Call<CreateReply>(compound, credential, [&](CompoundReader& reader, CreateReply& reply) {
    ChangeInfo change;
    if (!reader.Next(OP_PUTFH) || !TakeCreated(reader, change)) {
      reply.error = reader.error();
      return;
    }
    FileHandle handle;
    if (TakeHandle(reader, handle)) reply.handle = handle;
    reply.attributes = TakeOptionalAttributes(reader, owner_names_);
    reader.Next(OP_PUTFH);
    reply.directory = Consistency(change, TakeOptionalAttributes(reader, owner_names_));
  });
}

CreateReply Nfs4::MakeDirectory(const FileHandle& directory, std::string_view name,
                                const SetAttributes& attributes, const Credential& credential) {
  if (const std::errc error = CheckName(name); error != kOk) return Failure<CreateReply>(error);
  return CreateObject(directory, credential, [&](Compound& compound) {
    compound.MakeDirectory(name, attributes);
  });
}

CreateReply Nfs4::MakeSymlink(const FileHandle& directory, std::string_view name,
                              std::string_view target, const SetAttributes& attributes,
                              const Credential& credential) {
  std::errc error = CheckLinkText(target);
  if (error == kOk) error = CheckName(name);
  if (error != kOk) return Failure<CreateReply>(error);
  return CreateObject(directory, credential, [&](Compound& compound) {
    compound.MakeSymlink(name, target, attributes);
  });
}

CreateReply Nfs4::MakeNode(const FileHandle& directory, std::string_view name, FileType type,
                           Device device, const SetAttributes& attributes,
                           const Credential& credential) {
  if (const std::errc error = CheckName(name); error != kOk) return Failure<CreateReply>(error);
  return CreateObject(directory, credential, [&](Compound& compound) {
    compound.MakeNode(name, type, device, attributes);
  });
}

// Creates a regular file by OPEN, whose sequence number makes it safe to repeat
// (state/open_owners.h).
CreateOpenReply Nfs4::CreateOpen(const FileHandle& directory, std::string_view name, CreateMode how,
                                 const SetAttributes& attributes, bool read, bool write,
                                 const Credential& credential) {
  if (const std::errc error = CheckName(name); error != kOk) {
    return Failure<CreateOpenReply>(error);
  }
  using How = OpenArguments::How;
  Budget budget = caller_->NewBudget();
  OpenFiles::Request request{.at = directory,
                             .name = name,
                             .read = read,
                             .write = write,
                             .how = How::kUnchecked,
                             .attributes = attributes};
  uint64_t attributes_set = 0;
  const auto open = [&]() -> CreateOpenReply {
    OpenFiles::Opened opened = open_files_->Open(request, credential, budget);
    // OPEN fails with SYMLINK or ISDIR for these (RFC 7530 16.16), open(2) with O_EXCL with EEXIST.
    const bool is_other = opened.error == std::errc::too_many_symbolic_link_levels ||
                          opened.error == std::errc::is_a_directory;
    if (is_other && how != CreateMode::kUnchecked) opened.error = std::errc::file_exists;
    CreateReply reply{opened.error, std::nullopt, opened.attributes, opened.directory};
    if (reply.error == kOk) reply.handle = opened.handle;
    attributes_set = opened.attributes_set;
    return {std::move(reply), std::move(opened.state)};
  };
  if (how == CreateMode::kUnchecked) return open();
  if (how == CreateMode::kGuarded) {
    const bool has_sessions = caller_->has_sessions();
    request.how = has_sessions ? How::kExclusiveWithAttributes : How::kExclusive;
    // They may hold the verifier (SUPPATTR_EXCLCREAT, RFC 8881 5.8.1.14).
    request.attributes.atime = request.attributes.mtime = std::nullopt;
    request.exclusive_verifier = NewExclusiveVerifier();
    CreateOpenReply created = open();
    if (has_sessions && created.error == std::errc::invalid_argument) {
      request.attributes = {};  // some that it does not set so
      created = open();
    }
    if (created.error == kOk) {
      if (!has_sessions) attributes_set = kTimesOfVerifier;
      CreateReply finished = FinishExclusive(std::move(created), attributes_set, directory, name,
                                             attributes, credential);
      const bool is_open = finished.error == kOk;
      return {std::move(finished), is_open ? std::move(created.state) : nullptr};
    }
    if (created.error != std::errc::operation_not_supported) return created;
  }
  request.attributes = attributes;
  request.how = How::kGuarded;
  return open();
}

CreateReply Nfs4::Create(const FileHandle& directory, std::string_view name, CreateMode how,
                         const SetAttributes& attributes, const Credential& credential) {
  return CreateOpen(directory, name, how, attributes, /*read=*/false, /*write=*/true, credential);
}

// Sets what the server has not set of a file created exclusively, and the times where they hold the
// verifier, which the server says in sessions, and most do in version 4.0.
CreateReply Nfs4::FinishExclusive(CreateReply created, uint64_t attributes_set,
                                  const FileHandle& directory, std::string_view name,
                                  SetAttributes attributes, const Credential& credential) {
  const auto has = [attributes_set](int attribute) {
    return (attributes_set & AttributeBit(attribute)) != 0;
  };
  if (has(FATTR4_MODE)) attributes.mode.reset();
  if (has(FATTR4_OWNER)) attributes.uid.reset();
  if (has(FATTR4_OWNER_GROUP)) attributes.gid.reset();
  if (has(FATTR4_SIZE)) attributes.size_bytes.reset();
  const bool atime_is_set = has(FATTR4_TIME_ACCESS) || has(FATTR4_TIME_ACCESS_SET);
  const bool mtime_is_set = has(FATTR4_TIME_MODIFY) || has(FATTR4_TIME_MODIFY_SET);
  if (atime_is_set && !attributes.atime) attributes.atime.emplace();
  if (mtime_is_set && !attributes.mtime) attributes.mtime.emplace();
  if (attributes.empty()) return created;
  const FileChangeReply set = SetAttributesOf(*created.handle, attributes, credential);
  if (set.error == kOk) {
    created.attributes = set.file.after;
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

LinkReply Nfs4::Link(const FileHandle& file, const FileHandle& directory, std::string_view name,
                     const Credential& credential) {
  if (const std::errc error = CheckName(name); error != kOk) return Failure<LinkReply>(error);
  Compound compound;
  compound.PutHandle(file).SaveHandle().PutHandle(directory).Link(name);
  compound.GetAttributes().RestoreHandle().GetAttributes();
  return Call<LinkReply>(compound, credential, [&](CompoundReader& reader, LinkReply& reply) {
    ChangeInfo change;
    if (!reader.Next(OP_PUTFH) || !reader.Next(OP_SAVEFH) || !reader.Next(OP_PUTFH) ||
        !TakeLinked(reader, change)) {
      reply.error = reader.error();
      return;
    }
    reply.directory = Consistency(change, TakeOptionalAttributes(reader, owner_names_));
    reader.Next(OP_RESTOREFH);
    reply.attributes = TakeOptionalAttributes(reader, owner_names_);
  });
}

RenameReply Nfs4::Rename(const FileHandle& from_directory, std::string_view from_name,
                         const FileHandle& to_directory, std::string_view to_name,
                         const std::optional<KnownObject>& known, const Credential& credential) {
  std::errc error = CheckName(from_name);
  if (error == kOk) error = CheckName(to_name);
  if (error != kOk) return Failure<RenameReply>(error);
  Compound compound;
  compound.PutHandle(from_directory).SaveHandle().PutHandle(to_directory);
  compound.Rename(from_name, to_name).GetAttributes().RestoreHandle().GetAttributes();
  Budget budget = caller_->NewBudget();
  return CallOnce<RenameReply>(
      compound, credential, budget,
      [&](CompoundReader& reader, RenameReply& reply) {
        ChangeInfo from;
        ChangeInfo to;
        if (!reader.Next(OP_PUTFH) || !reader.Next(OP_SAVEFH) || !reader.Next(OP_PUTFH) ||
            !TakeRenamed(reader, from, to)) {
          reply.error = reader.error();
          return;
        }
        reply.to_directory = Consistency(to, TakeOptionalAttributes(reader, owner_names_));
        reader.Next(OP_RESTOREFH);
        reply.from_directory = Consistency(from, TakeOptionalAttributes(reader, owner_names_));
      },
      std::errc::no_such_file_or_directory,
      [&](LookedUp when) {
        return OutcomeOfRename(
            when, known,
            [&] { return LookupWithin(budget, from_directory, from_name, credential); },
            [&] { return LookupWithin(budget, to_directory, to_name, credential); });
      });
}

// Checks the type in the same COMPOUND: REMOVE removes files and directories alike.
RemoveReply Nfs4::RemoveObject(bool is_directory, const FileHandle& directory,
                               std::string_view name, const std::optional<KnownObject>& known,
                               const Credential& credential) {
  if (const std::errc error = CheckName(name); error != kOk) return Failure<RemoveReply>(error);
  Compound compound;
  compound.PutHandle(directory).Lookup(name).RequireDirectory(is_directory);
  compound.PutHandle(directory).Remove(name).GetAttributes();
  Budget budget = caller_->NewBudget();
  return CallOnce<RemoveReply>(
      compound, credential, budget,
      [&](CompoundReader& reader, RemoveReply& reply) {
        ChangeInfo change;
        if (reader.Next(OP_PUTFH) && reader.Next(OP_LOOKUP) &&
            reader.Next(is_directory ? OP_VERIFY : OP_NVERIFY) && reader.Next(OP_PUTFH) &&
            TakeRemoved(reader, change)) {
          reply.directory = Consistency(change, TakeOptionalAttributes(reader, owner_names_));
          return;
        }
        reply.error = reader.error();
        if (reader.status() == NFS4ERR_SAME) reply.error = std::errc::is_a_directory;
        if (reader.status() == NFS4ERR_NOT_SAME) reply.error = std::errc::not_a_directory;
      },
      std::errc::no_such_file_or_directory,
      [&](LookedUp when) {
        return OutcomeOfRemove(
            when, known, [&] { return LookupWithin(budget, directory, name, credential); },
            [&] { return GetAttributesWithin(budget, known->handle, credential); });
      });
}

FileChangeReply Nfs4::SetAttributesOf(const FileHandle& file, const SetAttributes& attributes,
                                      const Credential& credential) {
  SetAttributesOperation operation(file, attributes, owner_names_, owners_as_names_);
  return rpc::CallOperation<FileChangeReply>(*caller_, credential, operation);
}

FileChangeInFlight Nfs4::StartSetAttributes(const FileHandle& file, const SetAttributes& attributes,
                                            const Credential& credential) {
  return rpc::StartOperation<SetAttributesOperation, FileChangeReply>(
      *caller_, credential, file, attributes, owner_names_, owners_as_names_);
}

}  // namespace nfswalk::protocol
