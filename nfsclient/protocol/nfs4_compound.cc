#include "nfsclient/protocol/nfs4_compound.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <cstring>
#include <initializer_list>

#include "nfsclient/protocol/internal_errors.h"
#include "nfsclient/protocol/nfs4_arguments.h"
#include "nfsclient/protocol/nfs4_owner.h"
#include "nfsclient/protocol/nfs4_status.h"
#include "nfsclient/protocol/wire_value.h"

namespace nfswalk::protocol {
namespace {

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

}  // namespace

Compound::Compound() = default;
Compound::~Compound() = default;

nfs_argop4& Compound::Add(int operation, size_t argument_bytes) {
  nfs_argop4& added = operations_.emplace_back();
  std::memset(&added, 0, sizeof added);
  added.argop = static_cast<nfs_opnum4>(operation);
  encoded_bytes_ += kXdrWordBytes + argument_bytes;
  return added;
}

// Encodes in the order of the attributes' numbers (RFC 7530 2.2.7).
fattr4 Compound::EncodeAttributes(const SetAttributes& attributes) {
  std::string& values = bytes_.emplace_back();
  Mask& mask = masks_.emplace_back();
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

stateid4 ToWire(const StateId& state) {
  stateid4 wire{};
  wire.seqid = state.sequence;
  static_assert(sizeof wire.other == sizeof state.other);
  std::memcpy(wire.other, state.other.data(), sizeof wire.other);
  return wire;
}

Compound& Compound::PutRoot() {
  Add(OP_PUTROOTFH, 0);
  return *this;
}

Compound& Compound::PutHandle(const FileHandle& handle) {
  const auto bytes = handle.bytes();
  std::string& kept = bytes_.emplace_back(bytes.begin(), bytes.end());
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

Compound& Compound::RequireDirectory(bool is_directory) {
  std::string& type = bytes_.emplace_back();
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

Compound& Compound::Read(const StateId& state, uint64_t offset_bytes, uint32_t count_bytes) {
  READ4args& args =
      Add(OP_READ, kStateIdBytes + kXdrHyperBytes + kXdrWordBytes).nfs_argop4_u.opread;
  args.stateid = ToWire(state);
  args.offset = offset_bytes;
  args.count = count_bytes;
  return *this;
}

Compound& Compound::Write(const StateId& state, uint64_t offset_bytes,
                          std::span<const std::byte> data) {
  WRITE4args& args =
      Add(OP_WRITE, kStateIdBytes + kXdrHyperBytes + kXdrWordBytes + XdrCounted(data.size()))
          .nfs_argop4_u.opwrite;
  args.stateid = ToWire(state);
  args.offset = offset_bytes;
  args.stable = FILE_SYNC4;
  args.data.data_len = static_cast<u_int>(data.size());
  args.data.data_val = const_cast<char*>(reinterpret_cast<const char*>(data.data()));
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
  return *this;
}

size_t Compound::operations() const { return operations_.size(); }

size_t Compound::EncodedBytesOfStep(std::string_view name) {
  constexpr size_t kOperations = 4;
  return kOperations * kXdrWordBytes + XdrCounted(name.size()) + kMaskBytes + kXdrWordBytes;
}

int Compound::Issue(rpc_context* rpc, ReplyCallback callback, void* data) {
  COMPOUND4args args{};
  args.argarray.argarray_len = static_cast<u_int>(operations_.size());
  args.argarray.argarray_val = operations_.data();
  return rpc_nfs4_compound_async(rpc, callback, &args, data);
}

const nfs_resop4* CompoundReader::Next(int operation) {
  static_assert(sizeof(nfs_resop4) == kResultBytes && alignof(nfs_resop4) <= 8);
  if (error_ != std::errc{}) return nullptr;
  if (next_ >= wire_.resarray.resarray_len || wire_.resarray.resarray_val == nullptr) {
    // No result: the server may have refused the whole COMPOUND (NFS4ERR_RESOURCE).
    status_ = WireValue(wire_.status);
    error_ = status_ == NFS4_OK ? std::errc::io_error : ErrnoOfStatus4(status_);
    return nullptr;
  }
  const char* at = reinterpret_cast<const char*>(wire_.resarray.resarray_val);
  std::memcpy(result_.data(), at + next_++ * sizeof(nfs_resop4), sizeof(nfs_resop4));
  const auto* result = reinterpret_cast<const nfs_resop4*>(result_.data());
  if (WireValue(result->resop) != operation) {
    Fail();
    return nullptr;
  }
  // Every member of the union begins with the status.
  status_ = WireValue(result->nfs_resop4_u.opillegal.status);
  error_ = ErrnoOfStatus4(status_);
  if (error_ == kTooSmall && operation != OP_READDIR) Fail();  // valid for READDIR only
  return status_ == NFS4_OK ? result : nullptr;
}

}  // namespace nfswalk::protocol
