#include "nfsclient/nfs4/compound.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <cassert>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>

#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/nfs4/status.h"
#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/internal_errors.h"

namespace nfswalk::protocol {
namespace {

// Limit of a result without data and directory entries: the longest is a link text.
constexpr size_t kResultBytesMax = 4096 + 64;
// Limit of what a server may answer to READDIR beyond maxcount.
constexpr size_t kReadDirSlackBytes = 32 * 1024;

// No callback service: the server grants no delegations then (RFC 7530 16.33).
constexpr std::string_view kNetwork = "tcp";
constexpr std::string_view kAddress = "0.0.0.0.0.0";

using Mask = std::array<uint32_t, 2>;

constexpr Mask MaskOf(std::initializer_list<int> attributes) {
  Mask mask{};
  for (const int number : attributes) mask[number / 32] |= 1u << number % 32;
  return mask;
}

constexpr Mask Both(const Mask& a, const Mask& b) { return {a[0] | b[0], a[1] | b[1]}; }

constexpr Mask kTypeMask = MaskOf({FATTR4_TYPE});
// The members of Attributes.
constexpr Mask kFileMask =
    MaskOf({FATTR4_TYPE, FATTR4_CHANGE, FATTR4_SIZE, FATTR4_FSID, FATTR4_FILEID, FATTR4_MODE,
            FATTR4_NUMLINKS, FATTR4_OWNER, FATTR4_OWNER_GROUP, FATTR4_RAWDEV, FATTR4_SPACE_USED,
            FATTR4_TIME_ACCESS, FATTR4_TIME_METADATA, FATTR4_TIME_MODIFY});
// The members of ServerAttributes.
constexpr Mask kLimitsMask = MaskOf({FATTR4_LEASE_TIME, FATTR4_ACLSUPPORT, FATTR4_CASE_INSENSITIVE,
                                     FATTR4_MAXNAME, FATTR4_MAXREAD, FATTR4_MAXWRITE});
constexpr Mask kAclMask = MaskOf({FATTR4_ACL});
// The members of FileSystemSpace.
constexpr Mask kSpaceMask = MaskOf({FATTR4_FILES_AVAIL, FATTR4_FILES_FREE, FATTR4_FILES_TOTAL,
                                    FATTR4_SPACE_AVAIL, FATTR4_SPACE_FREE, FATTR4_SPACE_TOTAL});
// RDATTR_ERROR: without it the whole READDIR fails if the attributes of one entry cannot be read
// (RFC 7530 5.8.1.12).
constexpr Mask kEntryMask = MaskOf({FATTR4_RDATTR_ERROR, FATTR4_FILEID, FATTR4_MOUNTED_ON_FILEID});
constexpr Mask kEntryPlusMask =
    Both(kFileMask, MaskOf({FATTR4_RDATTR_ERROR, FATTR4_FILEHANDLE, FATTR4_MOUNTED_ON_FILEID}));

// The bytes of what is opaque: a verifier4.
template <typename Value>
std::string_view BytesOf(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string_view BytesOf(const FileHandle& handle) {
  const auto bytes = handle.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Put(rpc::XdrWriter& out, const Mask& mask) {
  out.U32(static_cast<uint32_t>(mask.size()));
  for (const uint32_t word : mask) out.U32(word);
}

void Put(rpc::XdrWriter& out, const SetTime& time) {
  out.U32(time.time ? SET_TO_CLIENT_TIME4 : SET_TO_SERVER_TIME4);
  if (time.time) out.U64(static_cast<uint64_t>(time.time->seconds)).U32(time.time->nanoseconds);
}

// All ones: to the end of the file (RFC 7530 16.10).
uint64_t LengthOf(ByteRange range) {
  return range.last == ByteRange::kEnd ? UINT64_MAX : range.last - range.first + 1;
}

uint32_t ToWire(LockType type) { return type == LockType::kRead ? READ_LT : WRITE_LT; }

uint32_t ShareAccess(const OpenArguments& arguments) {
  using Delegation = OpenArguments::Delegation;
  // RFC 8881 18.16.3.
  constexpr uint32_t kWantReadDelegation = 0x100, kWantNoDelegation = 0x400;
  return (arguments.delegation == Delegation::kRead ? kWantReadDelegation : 0u) |
         (arguments.delegation == Delegation::kNone ? kWantNoDelegation : 0u) |
         (arguments.read ? OPEN4_SHARE_ACCESS_READ : 0u) |
         (arguments.write ? OPEN4_SHARE_ACCESS_WRITE : 0u);
}

uint32_t ToWire(FileType type) {
  switch (type) {
    case FileType::kRegular:
      return NF4REG;
    case FileType::kDirectory:
      return NF4DIR;
    case FileType::kBlockDevice:
      return NF4BLK;
    case FileType::kCharacterDevice:
      return NF4CHR;
    case FileType::kSymlink:
      return NF4LNK;
    case FileType::kSocket:
      return NF4SOCK;
    case FileType::kFifo:
      return NF4FIFO;
  }
  __builtin_unreachable();
}

uint32_t ToWire(OpenArguments::How how) {
  constexpr uint32_t kExclusive4Point1 = 3;  // RFC 8881 18.16.1
  switch (how) {
    case OpenArguments::How::kGuarded:
      return GUARDED4;
    case OpenArguments::How::kExclusive:
      return EXCLUSIVE4;
    case OpenArguments::How::kExclusiveWithAttributes:
      return kExclusive4Point1;
    case OpenArguments::How::kNoCreate:
    case OpenArguments::How::kUnchecked:
      break;
  }
  return UNCHECKED4;
}

// Operations that change what a second execution would find changed.
bool MustExecuteOnce(int operation) {
  switch (operation) {
    case OP_CLOSE:
    case OP_CREATE:
    case OP_LINK:
    case OP_LOCK:
    case OP_LOCKU:
    case OP_OPEN:
    case OP_REMOVE:
    case OP_RENAME:
    case OP_SETATTR:
    case kOpAllocate:
    case kOpCopy:
    case kOpDeallocate:
    case kOpGetDirDelegation:
    case kOpRemoveXattr:
    case kOpSetXattr:
      return true;
    default:
      return false;
  }
}

// Operations that may be the only one of a COMPOUND without SEQUENCE (RFC 8881 2.10.2.1).
bool IsOutsideSessions(int operation) {
  return operation == kOpBindConnToSession || operation == kOpExchangeId ||
         operation == kOpCreateSession || operation == kOpDestroySession ||
         operation == kOpDestroyClientId;
}

// As rpc::Request::find_data: READ is the second operation behind SEQUENCE.
std::optional<size_t> FindReadData(std::span<const std::byte> results) {
  rpc::XdrReader in(results);
  rpc::SkipCompoundHead(in);
  rpc::XdrReader begin = in;
  if (begin.U32() == rpc::kOpSequence) {
    const auto sequence = rpc::ReadSequence(in);
    if (!sequence || sequence->status != NFS4_OK) return std::nullopt;
  }
  for (const uint32_t operation : {OP_PUTFH, OP_READ}) {
    if (in.U32() != operation || in.U32() != NFS4_OK) return std::nullopt;
  }
  in.U32();  // eof
  return in.good() ? std::optional(results.size() - in.bytes_left()) : std::nullopt;
}

}  // namespace

rpc::XdrWriter& Compound::Add(int operation) {
  ++operations_;
  results_bytes_max_ += kResultBytesMax;
  if (OperationRank(operation) > OperationRank(counts_as_)) counts_as_ = operation;
  if (MustExecuteOnce(operation)) is_cached_ = true;
  if (IsOutsideSessions(operation)) in_session_ = false;
  return writer_.U32(static_cast<uint32_t>(operation));
}

void Compound::AddState(const StateId& state) {
  writer_.U32(state.sequence).Opaque({state.other.data(), state.other.size()});
}

// In the order of the attributes' numbers (RFC 7530 2.2.7).
void Compound::AddAttributes(const SetAttributes& attributes) {
  Mask mask{};
  const auto note = [&](int number, bool is_set) {
    if (is_set) mask[number / 32] |= 1u << number % 32;
  };
  note(FATTR4_SIZE, attributes.size_bytes.has_value());
  note(FATTR4_MODE, attributes.mode.has_value());
  note(FATTR4_OWNER, attributes.uid.has_value());
  note(FATTR4_OWNER_GROUP, attributes.gid.has_value());
  note(FATTR4_TIME_ACCESS_SET, attributes.atime.has_value());
  note(FATTR4_TIME_MODIFY_SET, attributes.mtime.has_value());
  Put(writer_, mask);
  const size_t length_at = writer_.size();
  writer_.U32(0);
  if (attributes.size_bytes) writer_.U64(*attributes.size_bytes);
  if (attributes.mode) writer_.U32(*attributes.mode & 07777);
  if (attributes.uid) {
    writer_.Bytes(names_ ? names_->NameOfUid(*attributes.uid) : std::to_string(*attributes.uid));
  }
  if (attributes.gid) {
    writer_.Bytes(names_ ? names_->NameOfGid(*attributes.gid) : std::to_string(*attributes.gid));
  }
  if (attributes.atime) Put(writer_, *attributes.atime);
  if (attributes.mtime) Put(writer_, *attributes.mtime);
  writer_.Replace(length_at, static_cast<uint32_t>(writer_.size() - length_at - sizeof(uint32_t)));
}

Compound& Compound::PutRoot() {
  Add(OP_PUTROOTFH);
  return *this;
}

Compound& Compound::PutHandle(const FileHandle& handle) {
  Add(OP_PUTFH).Bytes(BytesOf(handle));
  return *this;
}

Compound& Compound::GetHandle() {
  Add(OP_GETFH);
  return *this;
}

Compound& Compound::SaveHandle() {
  Add(OP_SAVEFH);
  return *this;
}

Compound& Compound::RestoreHandle() {
  Add(OP_RESTOREFH);
  return *this;
}

Compound& Compound::Lookup(std::string_view name) {
  Add(OP_LOOKUP).Bytes(name);
  return *this;
}

Compound& Compound::LookupParent() {
  Add(OP_LOOKUPP);
  return *this;
}

Compound& Compound::GetAttributes() {
  Put(Add(OP_GETATTR), kFileMask);
  return *this;
}

Compound& Compound::GetLimits() {
  Put(Add(OP_GETATTR), kLimitsMask);
  return *this;
}

Compound& Compound::GetSpace() {
  Put(Add(OP_GETATTR), kSpaceMask);
  return *this;
}

Compound& Compound::RequireDirectory(bool is_directory) {
  Put(Add(is_directory ? OP_VERIFY : OP_NVERIFY), kTypeMask);
  writer_.U32(sizeof(uint32_t)).U32(NF4DIR);
  return *this;
}

Compound& Compound::Access(uint32_t rights) {
  Add(OP_ACCESS).U32(rights);
  return *this;
}

Compound& Compound::ReadLink() {
  Add(OP_READLINK);
  return *this;
}

Compound& Compound::Read(const StateId& state, uint64_t offset_bytes, std::span<std::byte> into) {
  Add(OP_READ);
  AddState(state);
  writer_.U64(offset_bytes).U32(static_cast<uint32_t>(into.size()));
  results_bytes_max_ += into.size();
  read_into_ = into;
  return *this;
}

Compound& Compound::Write(const StateId& state, uint64_t offset_bytes,
                          std::span<const std::byte> data, Stability stability) {
  assert(data_at_bytes_ == 0);
  Add(OP_WRITE);
  AddState(state);
  writer_.U64(offset_bytes).U32(static_cast<uint32_t>(stability));
  writer_.U32(static_cast<uint32_t>(data.size()));
  data_ = data;
  data_at_bytes_ = writer_.size();
  return *this;
}

Compound& Compound::Commit() {
  Add(OP_COMMIT).U64(0).U32(0);
  return *this;
}

Compound& Compound::ReadDir(ReadDirPosition position, uint32_t max_bytes, bool plus) {
  Add(OP_READDIR).U64(position.cookie).Opaque(BytesOf(position.verifier));
  writer_.U32(max_bytes).U32(max_bytes);
  Put(writer_, plus ? kEntryPlusMask : kEntryMask);
  results_bytes_max_ += max_bytes + kReadDirSlackBytes;
  return *this;
}

Compound& Compound::MakeDirectory(std::string_view name, const SetAttributes& attributes) {
  Add(OP_CREATE).U32(NF4DIR).Bytes(name);
  AddAttributes(attributes);
  return *this;
}

Compound& Compound::MakeSymlink(std::string_view name, std::string_view target,
                                const SetAttributes& attributes) {
  Add(OP_CREATE).U32(NF4LNK).Bytes(target).Bytes(name);
  AddAttributes(attributes);
  return *this;
}

Compound& Compound::MakeNode(std::string_view name, FileType type, Device device,
                             const SetAttributes& attributes) {
  Add(OP_CREATE).U32(ToWire(type));
  const bool is_device = type == FileType::kCharacterDevice || type == FileType::kBlockDevice;
  if (is_device) writer_.U32(device.major).U32(device.minor);
  writer_.Bytes(name);
  AddAttributes(attributes);
  return *this;
}

Compound& Compound::Remove(std::string_view name) {
  Add(OP_REMOVE).Bytes(name);
  return *this;
}

Compound& Compound::Rename(std::string_view from, std::string_view to) {
  Add(OP_RENAME).Bytes(from).Bytes(to);
  return *this;
}

Compound& Compound::Link(std::string_view name) {
  Add(OP_LINK).Bytes(name);
  return *this;
}

Compound& Compound::SetAttributesOf(const StateId& state, const SetAttributes& attributes) {
  Add(OP_SETATTR);
  AddState(state);
  AddAttributes(attributes);
  return *this;
}

Compound& Compound::GetAcl() {
  Put(Add(OP_GETATTR), kAclMask);
  // A longer one than the user is given may come: only an error, that ends no connection.
  results_bytes_max_ += 4 * kXattrValueBytesMax;
  return *this;
}

Compound& Compound::SetAcl(std::string_view acl) {
  Add(OP_SETATTR);
  AddState({});
  Put(writer_, kAclMask);
  writer_.Bytes(acl);
  return *this;
}

Compound& Compound::SendOwnersAsNames(const OwnerNames& names) {
  names_ = &names;
  return *this;
}

Compound& Compound::SetClientId(uint64_t verifier, std::string_view id) {
  Add(OP_SETCLIENTID).Opaque(BytesOf(verifier)).Bytes(id);
  writer_.U32(0).Bytes(kNetwork).Bytes(kAddress).U32(0);
  return *this;
}

Compound& Compound::ConfirmClientId(uint64_t client_id, uint64_t verifier) {
  Add(OP_SETCLIENTID_CONFIRM).U64(client_id).Opaque(BytesOf(verifier));
  return *this;
}

Compound& Compound::Renew(uint64_t client_id) {
  Add(OP_RENEW).U64(client_id);
  return *this;
}

Compound& Compound::ExchangeId(uint64_t verifier, std::string_view id) {
  Add(kOpExchangeId).Opaque(BytesOf(verifier)).Bytes(id);
  constexpr uint32_t kUseNonPnfs = 0x10000;
  constexpr uint32_t kNoStateProtection = 0;
  writer_.U32(kUseNonPnfs).U32(kNoStateProtection).U32(0);  // no eia_client_impl_id
  return *this;
}

Compound& Compound::CreateSession(const SessionArguments& arguments) {
  Add(kOpCreateSession).U64(arguments.client_id).U32(arguments.sequence);
  writer_.U32(0);  // csa_flags: the back channel has a connection of its own
  for (const ChannelAttributes& channel : {arguments.fore, arguments.back}) {
    writer_.U32(0).U32(channel.request_bytes_max).U32(channel.response_bytes_max);
    writer_.U32(channel.cached_bytes_max).U32(channel.operations_max).U32(channel.slots);
    writer_.U32(0);  // no ca_rdma_ird
  }
  constexpr uint32_t kAuthNone = 0;
  writer_.U32(kCallbackProgram).U32(1).U32(kAuthNone);
  return *this;
}

Compound& Compound::BindConnection(const SessionId& session) {
  constexpr uint32_t kBackOrBoth = 7;  // CDFC4_BACK_OR_BOTH
  Add(kOpBindConnToSession).Opaque({session.data(), session.size()}).U32(kBackOrBoth);
  writer_.Bool(false);  // no RDMA
  return *this;
}

Compound& Compound::CompleteReclaim() {
  Add(kOpReclaimComplete).Bool(false);  // of all file systems
  return *this;
}

Compound& Compound::DestroySession(const SessionId& session) {
  Add(kOpDestroySession).Opaque({session.data(), session.size()});
  return *this;
}

Compound& Compound::DestroyClientId(uint64_t client_id) {
  Add(kOpDestroyClientId).U64(client_id);
  return *this;
}

Compound& Compound::TestStates(std::span<const StateId> states) {
  Add(kOpTestStateId).U32(static_cast<uint32_t>(states.size()));
  for (const StateId& state : states) AddState(state);
  return *this;
}

Compound& Compound::FreeState(const StateId& state) {
  Add(kOpFreeStateId);
  AddState(state);
  return *this;
}

Compound& Compound::CountAsSequence() {
  counts_as_ = static_cast<int>(rpc::kOpSequence);
  return *this;
}

Compound& Compound::Open(const OpenArguments& arguments) {
  using How = OpenArguments::How;
  using Claim = OpenArguments::Claim;
  Add(OP_OPEN).U32(arguments.sequence).U32(ShareAccess(arguments)).U32(OPEN4_SHARE_DENY_NONE);
  writer_.U64(arguments.client_id).Bytes(arguments.owner);
  writer_.U32(arguments.how == How::kNoCreate ? OPEN4_NOCREATE : OPEN4_CREATE);
  if (arguments.how != How::kNoCreate) {
    writer_.U32(ToWire(arguments.how));
    if (arguments.how == How::kExclusive || arguments.how == How::kExclusiveWithAttributes) {
      writer_.Opaque(BytesOf(arguments.exclusive_verifier));
    }
    if (arguments.how != How::kExclusive) AddAttributes(arguments.attributes);
  }
  constexpr uint32_t kClaimFile = 4;  // CLAIM_FH (RFC 8881 18.16.1)
  switch (arguments.claim) {
    case Claim::kName:
      writer_.U32(CLAIM_NULL).Bytes(arguments.name);
      break;
    case Claim::kFile:
      writer_.U32(kClaimFile);
      break;
    case Claim::kPrevious:
      writer_.U32(CLAIM_PREVIOUS).U32(OPEN_DELEGATE_NONE);
      break;
  }
  return *this;
}

Compound& Compound::ConfirmOpen(const StateId& state, uint32_t sequence) {
  Add(OP_OPEN_CONFIRM);
  AddState(state);
  writer_.U32(sequence);
  return *this;
}

Compound& Compound::Close(const StateId& state, uint32_t sequence) {
  Add(OP_CLOSE).U32(sequence);
  AddState(state);
  return *this;
}

// Without notifications, which have the delays and the attributes.
Compound& Compound::DelegateDirectory() {
  Add(kOpGetDirDelegation).Bool(false).U32(0);  // told when there is one; notifications
  writer_.U64(0).U32(0).U64(0).U32(0);          // delays: of entries, of the directory
  writer_.U32(0).U32(0);                        // attributes: of entries, of the directory
  return *this;
}

Compound& Compound::ReturnDelegation(const StateId& delegation) {
  Add(OP_DELEGRETURN);
  AddState(delegation);
  return *this;
}

Compound& Compound::Lock(const LockArguments& arguments) {
  Add(OP_LOCK).U32(ToWire(arguments.lock.type)).Bool(arguments.reclaim);
  writer_.U64(arguments.lock.range.first).U64(LengthOf(arguments.lock.range));
  writer_.Bool(arguments.first);
  if (arguments.first) writer_.U32(arguments.open_sequence);
  AddState(arguments.state);
  writer_.U32(arguments.sequence);
  if (arguments.first) writer_.U64(arguments.client_id).Bytes(arguments.owner);
  return *this;
}

Compound& Compound::TestLock(const RangeLock& lock, uint64_t client_id, std::string_view owner) {
  Add(OP_LOCKT).U32(ToWire(lock.type)).U64(lock.range.first).U64(LengthOf(lock.range));
  writer_.U64(client_id).Bytes(owner);
  return *this;
}

// LOCKU with either type: the server ignores it.
Compound& Compound::Unlock(const StateId& state, uint32_t sequence, ByteRange range) {
  Add(OP_LOCKU).U32(WRITE_LT).U32(sequence);
  AddState(state);
  writer_.U64(range.first).U64(LengthOf(range));
  return *this;
}

Compound& Compound::ReleaseLockOwner(uint64_t client_id, std::string_view owner) {
  Add(OP_RELEASE_LOCKOWNER).U64(client_id).Bytes(owner);
  return *this;
}

size_t Compound::EncodedBytesOfStep(std::string_view name) {
  // LOOKUP and the name's length, GETFH, GETATTR and its mask, ACCESS.
  constexpr size_t kWords = 2 + 1 + 2 + std::tuple_size_v<Mask> + 2;
  return kWords * sizeof(uint32_t) + (name.size() + 3) / 4 * 4;
}

rpc::Request Compound::Encode() const {
  const std::span<const std::byte> bytes = writer_.bytes();
  const size_t before_data = data_at_bytes_ == 0 ? bytes.size() : data_at_bytes_;
  return {.procedure = NFSPROC4_COMPOUND,
          .operations = operations_,
          .in_session = in_session_,
          .is_cached = is_cached_,
          .counts_as = static_cast<uint32_t>(counts_as_),
          .arguments = bytes.first(before_data),
          .data = data_,
          .tail = bytes.subspan(before_data),
          .results_bytes_max = static_cast<uint32_t>(results_bytes_max_),
          .data_into = read_into_,
          .find_data = FindReadData};
}

}  // namespace nfswalk::protocol
