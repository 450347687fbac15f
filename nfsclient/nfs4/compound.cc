#include "nfsclient/nfs4/compound.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-zdr.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <cassert>
#include <cstring>
#include <initializer_list>

#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/nfs4/status.h"
#include "nfsclient/rpc/internal_errors.h"

namespace nfswalk::protocol {
namespace {

// RFC 4506 3: the basic block is four bytes.
constexpr size_t kXdrWordBytes = 4;
constexpr size_t kXdrHyperBytes = 8;
constexpr size_t XdrPadded(size_t bytes) { return (bytes + 3) / 4 * 4; }
// Encoded size of variable-length opaque data: length, bytes, padding.
constexpr size_t XdrCounted(size_t bytes) { return kXdrWordBytes + XdrPadded(bytes); }
constexpr size_t kStateIdBytes = 16;
// Size of COMPOUND4args before the operations: tag, minorversion and count.
constexpr size_t kHeaderBytes = 3 * kXdrWordBytes;
// Limit of a result without data and directory entries: the longest is a link text.
constexpr size_t kResultBytesMax = 4096 + 64;
// Limit of what a server may answer to READDIR beyond maxcount.
constexpr size_t kReadDirSlackBytes = 32 * 1024;

// Returns `bytes` as a pair of length and pointer, which borrows. libnfs' pointers are not const
// even where it only reads.
template <typename Wire>
Wire Counted(std::string_view bytes) {
  return {static_cast<uint32_t>(bytes.size()), const_cast<char*>(bytes.data())};
}

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
constexpr Mask kLimitsMask = MaskOf(
    {FATTR4_LEASE_TIME, FATTR4_CASE_INSENSITIVE, FATTR4_MAXNAME, FATTR4_MAXREAD, FATTR4_MAXWRITE});
// The members of FileSystemSpace.
constexpr Mask kSpaceMask = MaskOf({FATTR4_FILES_AVAIL, FATTR4_FILES_FREE, FATTR4_FILES_TOTAL,
                                    FATTR4_SPACE_AVAIL, FATTR4_SPACE_FREE, FATTR4_SPACE_TOTAL});
// RDATTR_ERROR: without it the whole READDIR fails if the attributes of one entry cannot be read
// (RFC 7530 5.8.1.12).
constexpr Mask kEntryMask = MaskOf({FATTR4_RDATTR_ERROR, FATTR4_FILEID, FATTR4_MOUNTED_ON_FILEID});
constexpr Mask kEntryPlusMask =
    Both(kFileMask, MaskOf({FATTR4_RDATTR_ERROR, FATTR4_FILEHANDLE, FATTR4_MOUNTED_ON_FILEID}));

// Encoded size: the length and the words.
constexpr size_t kMaskBytes = kXdrWordBytes + sizeof(Mask);

// libnfs' pointers are not const even where it only reads.
bitmap4 ToWire(const Mask& mask) {
  return {static_cast<u_int>(mask.size()), const_cast<uint32_t*>(mask.data())};
}

void Append(std::string& values, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) values += static_cast<char>(value >> shift);
}

void Append(std::string& values, uint64_t value) {
  Append(values, static_cast<uint32_t>(value >> 32));
  Append(values, static_cast<uint32_t>(value));
}

void Append(std::string& values, const std::string& text) {
  Append(values, static_cast<uint32_t>(text.size()));
  values += text;
  values.resize(XdrPadded(values.size()));
}

void Append(std::string& values, const SetTime& time) {
  Append(values, static_cast<uint32_t>(time.time ? SET_TO_CLIENT_TIME4 : SET_TO_SERVER_TIME4));
  if (!time.time) return;
  Append(values, static_cast<uint64_t>(time.time->seconds));
  Append(values, time.time->nanoseconds);
}

stateid4 ToWire(const StateId& state) {
  stateid4 wire{};
  wire.seqid = state.sequence;
  static_assert(sizeof wire.other == sizeof state.other);
  std::memcpy(wire.other, state.other.data(), sizeof wire.other);
  return wire;
}

// Copies the bytes: a verifier4 is opaque.
void Store(verifier4& wire, uint64_t verifier) {
  static_assert(sizeof wire == sizeof verifier);
  std::memcpy(wire, &verifier, sizeof wire);
}

// All ones: to the end of the file (RFC 7530 16.10).
uint64_t LengthOf(ByteRange range) {
  return range.last == ByteRange::kEnd ? UINT64_MAX : range.last - range.first + 1;
}

nfs_lock_type4 ToWire(LockType type) { return type == LockType::kRead ? READ_LT : WRITE_LT; }

lock_owner4 LockOwnerOf(uint64_t client_id, std::string_view owner) {
  return {client_id, {static_cast<u_int>(owner.size()), const_cast<char*>(owner.data())}};
}

uint32_t ShareAccess(const OpenArguments& arguments) {
  return (arguments.read ? OPEN4_SHARE_ACCESS_READ : 0u) |
         (arguments.write ? OPEN4_SHARE_ACCESS_WRITE : 0u);
}

nfs_ftype4 ToWire(FileType type) {
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

createmode4 ToWire(OpenArguments::How how) {
  switch (how) {
    case OpenArguments::How::kGuarded:
      return GUARDED4;
    case OpenArguments::How::kExclusive:
      return EXCLUSIVE4;
    case OpenArguments::How::kNoCreate:
    case OpenArguments::How::kUnchecked:
      break;
  }
  return UNCHECKED4;
}

// As rpc::Request::find_data: READ is the second operation.
std::optional<size_t> FindReadData(std::span<const std::byte> results) {
  rpc::XdrReader in(results);
  in.U32();                        // the COMPOUND's status
  (void)in.Bytes(results.size());  // the tag
  in.U32();                        // the number of results
  for (const uint32_t operation : {OP_PUTFH, OP_READ}) {
    if (in.U32() != operation || in.U32() != NFS4_OK) return std::nullopt;
  }
  in.U32();  // eof
  return in.good() ? std::optional(results.size() - in.bytes_left()) : std::nullopt;
}

}  // namespace

Compound::Compound() = default;
Compound::~Compound() = default;

nfs_argop4& Compound::Add(int operation, size_t argument_bytes) {
  nfs_argop4& added = operations_.emplace_back();
  std::memset(&added, 0, sizeof added);
  added.argop = static_cast<nfs_opnum4>(operation);
  encoded_bytes_ += kXdrWordBytes + argument_bytes;
  results_bytes_max_ += kResultBytesMax;
  if (OperationRank(operation) > OperationRank(counts_as_)) counts_as_ = operation;
  return added;
}

// Encodes in the order of the attributes' numbers (RFC 7530 2.2.7).
fattr4 Compound::EncodeAttributes(const SetAttributes& attributes) {
  std::string& values = bytes_.emplace_front();
  Mask& mask = masks_.emplace_front();
  const auto put = [&](int number, const auto& value) {
    mask[number / 32] |= 1u << number % 32;
    Append(values, value);
  };
  if (attributes.size_bytes) put(FATTR4_SIZE, *attributes.size_bytes);
  if (attributes.mode) put(FATTR4_MODE, *attributes.mode & 07777);
  if (attributes.uid) {
    put(FATTR4_OWNER,
        names_ ? names_->NameOfUid(*attributes.uid) : std::to_string(*attributes.uid));
  }
  if (attributes.gid) {
    put(FATTR4_OWNER_GROUP,
        names_ ? names_->NameOfGid(*attributes.gid) : std::to_string(*attributes.gid));
  }
  if (attributes.atime) put(FATTR4_TIME_ACCESS_SET, *attributes.atime);
  if (attributes.mtime) put(FATTR4_TIME_MODIFY_SET, *attributes.mtime);
  encoded_bytes_ += kMaskBytes + kXdrWordBytes + values.size();
  return {ToWire(mask), Counted<attrlist4>(values)};
}

Compound& Compound::PutRoot() {
  Add(OP_PUTROOTFH, 0);
  return *this;
}

Compound& Compound::PutHandle(const FileHandle& handle) {
  const auto bytes = handle.bytes();
  std::string& kept = bytes_.emplace_front(bytes.begin(), bytes.end());
  Add(OP_PUTFH, XdrCounted(kept.size())).nfs_argop4_u.opputfh.object = Counted<nfs_fh4>(kept);
  return *this;
}

Compound& Compound::GetHandle() {
  Add(OP_GETFH, 0);
  return *this;
}

Compound& Compound::SaveHandle() {
  Add(OP_SAVEFH, 0);
  return *this;
}

Compound& Compound::RestoreHandle() {
  Add(OP_RESTOREFH, 0);
  return *this;
}

Compound& Compound::Lookup(std::string_view name) {
  Add(OP_LOOKUP, XdrCounted(name.size())).nfs_argop4_u.oplookup.objname = Counted<component4>(name);
  return *this;
}

Compound& Compound::LookupParent() {
  Add(OP_LOOKUPP, 0);
  return *this;
}

Compound& Compound::GetAttributes() {
  Add(OP_GETATTR, kMaskBytes).nfs_argop4_u.opgetattr.attr_request = ToWire(kFileMask);
  return *this;
}

Compound& Compound::GetLimits() {
  Add(OP_GETATTR, kMaskBytes).nfs_argop4_u.opgetattr.attr_request = ToWire(kLimitsMask);
  return *this;
}

Compound& Compound::GetSpace() {
  Add(OP_GETATTR, kMaskBytes).nfs_argop4_u.opgetattr.attr_request = ToWire(kSpaceMask);
  return *this;
}

Compound& Compound::RequireDirectory(bool is_directory) {
  std::string& type = bytes_.emplace_front();
  Append(type, static_cast<uint32_t>(NF4DIR));
  const fattr4 wanted{ToWire(kTypeMask), Counted<attrlist4>(type)};
  const size_t bytes = kMaskBytes + XdrCounted(type.size());
  if (is_directory) {
    Add(OP_VERIFY, bytes).nfs_argop4_u.opverify.obj_attributes = wanted;
  } else {
    Add(OP_NVERIFY, bytes).nfs_argop4_u.opnverify.obj_attributes = wanted;
  }
  return *this;
}

Compound& Compound::Access(uint32_t rights) {
  Add(OP_ACCESS, kXdrWordBytes).nfs_argop4_u.opaccess.access = rights;
  return *this;
}

Compound& Compound::ReadLink() {
  Add(OP_READLINK, 0);
  return *this;
}

Compound& Compound::Read(const StateId& state, uint64_t offset_bytes, std::span<std::byte> into) {
  READ4args& args =
      Add(OP_READ, kStateIdBytes + kXdrHyperBytes + kXdrWordBytes).nfs_argop4_u.opread;
  args.stateid = ToWire(state);
  args.offset = offset_bytes;
  args.count = static_cast<uint32_t>(into.size());
  results_bytes_max_ += into.size();
  read_into_ = into;
  return *this;
}

Compound& Compound::Write(const StateId& state, uint64_t offset_bytes,
                          std::span<const std::byte> data, Stability stability) {
  WRITE4args& args = Add(OP_WRITE, kStateIdBytes + kXdrHyperBytes + kXdrWordBytes + XdrCounted(0))
                         .nfs_argop4_u.opwrite;
  args.stateid = ToWire(state);
  args.offset = offset_bytes;
  args.stable = static_cast<stable_how4>(stability);
  assert(operations_after_data_ == 0);
  operations_after_data_ = operations_.size();
  data_ = data;  // the encoder sees none
  return *this;
}

Compound& Compound::Commit() {
  Add(OP_COMMIT, kXdrHyperBytes + kXdrWordBytes).nfs_argop4_u.opcommit = {};
  return *this;
}

Compound& Compound::ReadDir(ReadDirPosition position, uint32_t max_bytes, bool plus) {
  READDIR4args& args =
      Add(OP_READDIR, 2 * kXdrHyperBytes + 2 * kXdrWordBytes + kMaskBytes).nfs_argop4_u.opreaddir;
  args.cookie = position.cookie;
  static_assert(sizeof args.cookieverf == sizeof position.verifier);
  std::memcpy(args.cookieverf, &position.verifier, sizeof args.cookieverf);
  args.dircount = max_bytes;
  args.maxcount = max_bytes;
  args.attr_request = ToWire(plus ? kEntryPlusMask : kEntryMask);
  results_bytes_max_ += max_bytes + kReadDirSlackBytes;
  return *this;
}

Compound& Compound::MakeDirectory(std::string_view name, const SetAttributes& attributes) {
  const fattr4 kept = EncodeAttributes(attributes);
  CREATE4args& args = Add(OP_CREATE, kXdrWordBytes + XdrCounted(name.size())).nfs_argop4_u.opcreate;
  args.objtype.type = NF4DIR;
  args.objname = Counted<component4>(name);
  args.createattrs = kept;
  return *this;
}

Compound& Compound::MakeSymlink(std::string_view name, std::string_view target,
                                const SetAttributes& attributes) {
  const fattr4 kept = EncodeAttributes(attributes);
  CREATE4args& args =
      Add(OP_CREATE, kXdrWordBytes + XdrCounted(target.size()) + XdrCounted(name.size()))
          .nfs_argop4_u.opcreate;
  args.objtype.type = NF4LNK;
  args.objtype.createtype4_u.linkdata = Counted<linktext4>(target);
  args.objname = Counted<component4>(name);
  args.createattrs = kept;
  return *this;
}

Compound& Compound::MakeNode(std::string_view name, FileType type, Device device,
                             const SetAttributes& attributes) {
  const fattr4 kept = EncodeAttributes(attributes);
  const bool is_device = type == FileType::kCharacterDevice || type == FileType::kBlockDevice;
  CREATE4args& args = Add(OP_CREATE, (is_device ? 3 : 1) * kXdrWordBytes + XdrCounted(name.size()))
                          .nfs_argop4_u.opcreate;
  args.objtype.type = ToWire(type);
  args.objtype.createtype4_u.devdata = {device.major, device.minor};
  args.objname = Counted<component4>(name);
  args.createattrs = kept;
  return *this;
}

Compound& Compound::Remove(std::string_view name) {
  Add(OP_REMOVE, XdrCounted(name.size())).nfs_argop4_u.opremove.target = Counted<component4>(name);
  return *this;
}

Compound& Compound::Rename(std::string_view from, std::string_view to) {
  Add(OP_RENAME, XdrCounted(from.size()) + XdrCounted(to.size())).nfs_argop4_u.oprename = {
      Counted<component4>(from), Counted<component4>(to)};
  return *this;
}

Compound& Compound::Link(std::string_view name) {
  Add(OP_LINK, XdrCounted(name.size())).nfs_argop4_u.oplink.newname = Counted<component4>(name);
  return *this;
}

Compound& Compound::SetAttributesOf(const StateId& state, const SetAttributes& attributes) {
  const fattr4 kept = EncodeAttributes(attributes);
  Add(OP_SETATTR, kStateIdBytes).nfs_argop4_u.opsetattr = {ToWire(state), kept};
  return *this;
}

Compound& Compound::SendOwnersAsNames(const OwnerNames& names) {
  names_ = &names;
  return *this;
}

Compound& Compound::SetClientId(uint64_t verifier, std::string_view id) {
  SETCLIENTID4args& args = Add(OP_SETCLIENTID, kXdrHyperBytes + XdrCounted(id.size()) +
                                                   kXdrWordBytes + XdrCounted(kNetwork.size()) +
                                                   XdrCounted(kAddress.size()) + kXdrWordBytes)
                               .nfs_argop4_u.opsetclientid;
  Store(args.client.verifier, verifier);
  args.client.id.id_len = static_cast<u_int>(id.size());
  args.client.id.id_val = const_cast<char*>(id.data());
  args.callback.cb_location.r_netid = const_cast<char*>(kNetwork.data());
  args.callback.cb_location.r_addr = const_cast<char*>(kAddress.data());
  return *this;
}

Compound& Compound::ConfirmClientId(uint64_t client_id, uint64_t verifier) {
  SETCLIENTID_CONFIRM4args& args =
      Add(OP_SETCLIENTID_CONFIRM, 2 * kXdrHyperBytes).nfs_argop4_u.opsetclientid_confirm;
  args.clientid = client_id;
  Store(args.setclientid_confirm, verifier);
  return *this;
}

Compound& Compound::Renew(uint64_t client_id) {
  Add(OP_RENEW, kXdrHyperBytes).nfs_argop4_u.oprenew.clientid = client_id;
  return *this;
}

Compound& Compound::Open(const OpenArguments& arguments) {
  using How = OpenArguments::How;
  const bool has_attributes = arguments.how == How::kUnchecked || arguments.how == How::kGuarded;
  const fattr4 kept = has_attributes ? EncodeAttributes(arguments.attributes) : fattr4{};
  // Words: seqid, share_access, share_deny, opentype, claim.
  OPEN4args& args =
      Add(OP_OPEN, 5 * kXdrWordBytes + kXdrHyperBytes + XdrCounted(arguments.owner.size()))
          .nfs_argop4_u.opopen;
  args.seqid = arguments.sequence;
  args.share_access = ShareAccess(arguments);
  args.share_deny = OPEN4_SHARE_DENY_NONE;
  args.owner.clientid = arguments.client_id;
  args.owner.owner.owner_len = static_cast<u_int>(arguments.owner.size());
  args.owner.owner.owner_val = const_cast<char*>(arguments.owner.data());
  if (arguments.how != How::kNoCreate) {
    args.openhow.opentype = OPEN4_CREATE;
    createhow4& how = args.openhow.openflag4_u.how;
    how.mode = ToWire(arguments.how);
    encoded_bytes_ += kXdrWordBytes;
    if (has_attributes) {
      how.createhow4_u.createattrs = kept;
    } else {
      Store(how.createhow4_u.createverf, arguments.exclusive_verifier);
      encoded_bytes_ += kXdrHyperBytes;
    }
  }
  if (arguments.reclaim) {
    args.claim.claim = CLAIM_PREVIOUS;
    args.claim.open_claim4_u.delegate_type = OPEN_DELEGATE_NONE;
    encoded_bytes_ += kXdrWordBytes;
  } else {
    args.claim.claim = CLAIM_NULL;
    args.claim.open_claim4_u.file = Counted<component4>(arguments.name);
    encoded_bytes_ += XdrCounted(arguments.name.size());
  }
  return *this;
}

Compound& Compound::ConfirmOpen(const StateId& state, uint32_t sequence) {
  Add(OP_OPEN_CONFIRM, kStateIdBytes + kXdrWordBytes).nfs_argop4_u.opopen_confirm = {ToWire(state),
                                                                                     sequence};
  return *this;
}

Compound& Compound::Close(const StateId& state, uint32_t sequence) {
  Add(OP_CLOSE, kStateIdBytes + kXdrWordBytes).nfs_argop4_u.opclose = {sequence, ToWire(state)};
  return *this;
}

Compound& Compound::ReturnDelegation(const StateId& delegation) {
  Add(OP_DELEGRETURN, kStateIdBytes).nfs_argop4_u.opdelegreturn.deleg_stateid = ToWire(delegation);
  return *this;
}

Compound& Compound::Lock(const LockArguments& arguments) {
  // Words: locktype, reclaim, new_lock_owner, lock_seqid.
  LOCK4args& args =
      Add(OP_LOCK, 4 * kXdrWordBytes + 2 * kXdrHyperBytes + kStateIdBytes).nfs_argop4_u.oplock;
  args.locktype = ToWire(arguments.lock.type);
  args.reclaim = arguments.reclaim ? 1 : 0;
  args.offset = arguments.lock.range.first;
  args.length = LengthOf(arguments.lock.range);
  args.locker.new_lock_owner = arguments.first ? 1 : 0;
  if (!arguments.first) {
    args.locker.locker4_u.lock_owner = {ToWire(arguments.state), arguments.sequence};
    return *this;
  }
  encoded_bytes_ += kXdrWordBytes + kXdrHyperBytes + XdrCounted(arguments.owner.size());
  args.locker.locker4_u.open_owner = {arguments.open_sequence, ToWire(arguments.state),
                                      arguments.sequence,
                                      LockOwnerOf(arguments.client_id, arguments.owner)};
  return *this;
}

Compound& Compound::TestLock(const RangeLock& lock, uint64_t client_id, std::string_view owner) {
  Add(OP_LOCKT, kXdrWordBytes + 3 * kXdrHyperBytes + XdrCounted(owner.size()))
      .nfs_argop4_u.oplockt = {ToWire(lock.type), lock.range.first, LengthOf(lock.range),
                               LockOwnerOf(client_id, owner)};
  return *this;
}

// LOCKU with either type: the server ignores it.
Compound& Compound::Unlock(const StateId& state, uint32_t sequence, ByteRange range) {
  Add(OP_LOCKU, 2 * kXdrWordBytes + kStateIdBytes + 2 * kXdrHyperBytes).nfs_argop4_u.oplocku = {
      WRITE_LT, sequence, ToWire(state), range.first, LengthOf(range)};
  return *this;
}

Compound& Compound::ReleaseLockOwner(uint64_t client_id, std::string_view owner) {
  Add(OP_RELEASE_LOCKOWNER, kXdrHyperBytes + XdrCounted(owner.size()))
      .nfs_argop4_u.oprelease_lockowner.lock_owner = LockOwnerOf(client_id, owner);
  return *this;
}

size_t Compound::operations() const { return operations_.size(); }

size_t Compound::EncodedBytesOfStep(std::string_view name) {
  constexpr size_t kOperations = 4;
  return kOperations * kXdrWordBytes + XdrCounted(name.size()) + kMaskBytes + kXdrWordBytes;
}

rpc::Request Compound::Encode() {
  rpc::XdrBuffer& buffer = encoded_.emplace(kHeaderBytes + encoded_bytes_);
  for (uint32_t word : {0u, 0u, static_cast<uint32_t>(operations_.size())}) {  // no tag, version 0
    buffer.Append(zdr_u_int, word);
  }
  size_t before_data = 0;
  for (size_t i = 0; i < operations_.size(); ++i) {
    buffer.Append(zdr_nfs_argop4, operations_[i]);
    if (i + 1 != operations_after_data_) continue;
    buffer.SetLastWord(static_cast<uint32_t>(data_.size()));
    before_data = buffer.size();
  }
  assert(buffer.good());
  const std::span<const std::byte> bytes = buffer.bytes();
  if (before_data == 0) before_data = bytes.size();
  return {.procedure = NFSPROC4_COMPOUND,
          .counts_as = static_cast<uint32_t>(counts_as_),
          .arguments = bytes.first(before_data),
          .data = data_,
          .tail = bytes.subspan(before_data),
          .results_bytes_max = static_cast<uint32_t>(results_bytes_max_),
          .data_into = read_into_,
          .find_data = FindReadData};
}

CompoundReader::CompoundReader(rpc::XdrReader& results) : body_(results) {
  refused_status_ = static_cast<int>(body_.U32());
  (void)body_.Bytes(body_.bytes_left());  // the tag
  results_left_ = body_.U32();
  if (!body_.good()) Fail();
}

bool CompoundReader::Next(int operation) {
  if (error_ != std::errc{}) return false;
  if (results_left_ == 0) {
    // No result: the server may have refused the whole COMPOUND (NFS4ERR_RESOURCE).
    status_ = refused_status_;
    error_ = status_ == NFS4_OK ? std::errc::io_error : ErrnoOfStatus4(status_);
    return false;
  }
  --results_left_;
  const auto answered = static_cast<int>(body_.U32());
  const auto status = static_cast<int>(body_.U32());
  if (!body_.good() || answered != operation) {
    Fail();
    return false;
  }
  status_ = status;
  error_ = ErrnoOfStatus4(status);
  if (error_ == kTooSmall && operation != OP_READDIR) Fail();  // valid for READDIR only
  if (status != NFS4_OK) return false;
  // SETATTR's attrsset is not used.
  if (operation == OP_SETATTR) SkipBitmap();
  return TakeBody(true);
}

bool CompoundReader::TakeBody(bool is_valid) {
  if (!is_valid || !body_.good()) Fail();
  return error_ == std::errc{};
}

void CompoundReader::SkipBitmap() {
  const size_t words = body_.U32();
  body_.Skip(words * kXdrWordBytes);
}

}  // namespace nfswalk::protocol
