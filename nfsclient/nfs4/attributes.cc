// Decodes fattr4: the values in the order of the bits of a bitmap (RFC 7530 2.2.7, 5).
// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string_view>

#include "nfsclient/nfs4/acl.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/status.h"
#include "nfsclient/protocol/wire_limits.h"
#include "rcu/mix64.h"

namespace nfswalk::protocol {
namespace {

constexpr uint32_t kPermissionBits = 07777;
constexpr uint32_t kNanosecondsMax = 999'999'999;
constexpr uint32_t kTransferBytesMin = 1024;
// Used if the server sends no MAXREAD and MAXWRITE.
constexpr uint32_t kTransferBytesDefault = 64 * 1024;

constexpr uint64_t Bit(int attribute) { return uint64_t{1} << attribute; }

// Attributes without a substitute (FileAttributes::complete).
constexpr uint64_t kRequired = Bit(FATTR4_TYPE) | Bit(FATTR4_CHANGE) | Bit(FATTR4_SIZE) |
                               Bit(FATTR4_FSID) | Bit(FATTR4_FILEID) | Bit(FATTR4_MODE) |
                               Bit(FATTR4_NUMLINKS) | Bit(FATTR4_OWNER) | Bit(FATTR4_OWNER_GROUP) |
                               Bit(FATTR4_TIME_METADATA) | Bit(FATTR4_TIME_MODIFY);

using Bitmap = std::array<uint32_t, 2>;  // RFC 7530 5: the highest number is 55

// Returns nullopt if it has a higher bit.
std::optional<Bitmap> ReadBitmap(rpc::XdrReader& results) {
  Bitmap bitmap{};
  const uint32_t words = results.U32();
  for (uint32_t word = 0; word < words && results.good(); ++word) {
    const uint32_t bits = results.U32();
    if (word < bitmap.size()) {
      bitmap[word] = bits;
    } else if (bits != 0) {
      return std::nullopt;
    }
  }
  return bitmap;
}

// Any length that fits: OwnerNames has a limit of its own.
std::string_view ReadBytes(rpc::XdrReader& values) { return values.Bytes(values.bytes_left()); }

// Cuts nanoseconds of a second and more (WIRE-9).
Time ReadTime(rpc::XdrReader& values) {
  const auto seconds = static_cast<int64_t>(values.U64());
  return {seconds, std::min(values.U32(), kNanosecondsMax)};
}

// Skips an attribute that was not requested (RFC 7530 5.6, 5.7). Refuses ACLs, locations and the
// two write-only attributes.
void SkipAttribute(int number, rpc::XdrReader& values) {
  switch (number) {
    case FATTR4_SUPPORTED_ATTRS:
      return values.Skip(size_t{values.U32()} * 4);
    case FATTR4_MIMETYPE:
    case FATTR4_FILEHANDLE:
    case FATTR4_OWNER:
    case FATTR4_OWNER_GROUP:
      (void)ReadBytes(values);
      return;
    case FATTR4_FSID:
      return values.Skip(16);
    case FATTR4_TIME_ACCESS:
    case FATTR4_TIME_BACKUP:
    case FATTR4_TIME_CREATE:
    case FATTR4_TIME_DELTA:
    case FATTR4_TIME_METADATA:
    case FATTR4_TIME_MODIFY:
      return values.Skip(12);
    case FATTR4_CHANGE:
    case FATTR4_SIZE:
    case FATTR4_FILEID:
    case FATTR4_FILES_AVAIL:
    case FATTR4_FILES_FREE:
    case FATTR4_FILES_TOTAL:
    case FATTR4_MAXFILESIZE:
    case FATTR4_MAXREAD:
    case FATTR4_MAXWRITE:
    case FATTR4_QUOTA_AVAIL_HARD:
    case FATTR4_QUOTA_AVAIL_SOFT:
    case FATTR4_QUOTA_USED:
    case FATTR4_RAWDEV:
    case FATTR4_SPACE_AVAIL:
    case FATTR4_SPACE_FREE:
    case FATTR4_SPACE_TOTAL:
    case FATTR4_SPACE_USED:
    case FATTR4_MOUNTED_ON_FILEID:
      return values.Skip(8);
    case FATTR4_TYPE:
    case FATTR4_FH_EXPIRE_TYPE:
    case FATTR4_LINK_SUPPORT:
    case FATTR4_SYMLINK_SUPPORT:
    case FATTR4_NAMED_ATTR:
    case FATTR4_UNIQUE_HANDLES:
    case FATTR4_LEASE_TIME:
    case FATTR4_RDATTR_ERROR:
    case FATTR4_ACLSUPPORT:
    case FATTR4_ARCHIVE:
    case FATTR4_CANSETTIME:
    case FATTR4_CASE_INSENSITIVE:
    case FATTR4_CASE_PRESERVING:
    case FATTR4_CHOWN_RESTRICTED:
    case FATTR4_HIDDEN:
    case FATTR4_HOMOGENEOUS:
    case FATTR4_MAXLINK:
    case FATTR4_MAXNAME:
    case FATTR4_MODE:
    case FATTR4_NO_TRUNC:
    case FATTR4_NUMLINKS:
    case FATTR4_SYSTEM:
      return values.Skip(4);
    default:
      return values.Fail();
  }
}

// Reads a fattr4: runs read(number, values) for each attribute of the bitmap and sets its bit in
// `present`. Returns false unless the values end where attrlist4 does.
template <typename Read>
bool ForEachAttribute(rpc::XdrReader& results, uint64_t& present, Read read) {
  const std::optional<Bitmap> bitmap = ReadBitmap(results);
  const std::string_view bytes = ReadBytes(results);
  if (!bitmap || !results.good()) return false;
  rpc::XdrReader values(std::as_bytes(std::span(bytes)));
  present = uint64_t{(*bitmap)[1]} << 32 | (*bitmap)[0];
  for (uint64_t bits = present; bits != 0; bits &= bits - 1) {
    read(std::countr_zero(bits), values);
    if (!values.good()) return false;
  }
  return values.bytes_left() == 0;
}

void ReadType(rpc::XdrReader& values, FileType& type) {
  switch (values.U32()) {
    case NF4REG:
      type = FileType::kRegular;
      return;
    case NF4DIR:
      type = FileType::kDirectory;
      return;
    case NF4BLK:
      type = FileType::kBlockDevice;
      return;
    case NF4CHR:
      type = FileType::kCharacterDevice;
      return;
    case NF4LNK:
      type = FileType::kSymlink;
      return;
    case NF4SOCK:
      type = FileType::kSocket;
      return;
    case NF4FIFO:
      type = FileType::kFifo;
      return;
    default:
      // Includes named attributes, which are not supported.
      return values.Fail();
  }
}

// Reduces fsid4 to 64 bits: concatenates halves below 2^32, which is injective, and hashes others
// (two file systems collide with a probability of 2^-64).
uint64_t CombineFsid(uint64_t major, uint64_t minor) {
  if ((major | minor) >> 32 == 0) return major << 32 | minor;
  return rcu::Mix64(rcu::Mix64(major), minor);
}

void ReadHandle(rpc::XdrReader& values, std::optional<FileHandle>& handle) {
  const std::string_view bytes = values.Bytes(kNfs4HandleBytesMax);
  if (bytes.empty()) return values.Fail();
  handle = FileHandle({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

// Reads the ids, the handle and RDATTR_ERROR, for ReadFile().
void ReadIdentity(int number, rpc::XdrReader& values, FileAttributes& decoded) {
  switch (number) {
    case FATTR4_FSID: {
      const uint64_t major = values.U64();
      decoded.attributes.fsid = CombineFsid(major, values.U64());
      return;
    }
    case FATTR4_FILEID:
      decoded.attributes.fileid = values.U64();
      return;
    case FATTR4_MOUNTED_ON_FILEID:
      decoded.mounted_on_fileid = values.U64();
      return;
    case FATTR4_FILEHANDLE:
      return ReadHandle(values, decoded.handle);
    case FATTR4_RDATTR_ERROR:
      decoded.rdattr_error = ErrnoOfStatus4(static_cast<int>(values.U32()));
      return;
    default:
      return SkipAttribute(number, values);
  }
}

void ReadFile(int number, rpc::XdrReader& values, const OwnerNames& owners, OwnerWait& wait,
              FileAttributes& decoded) {
  Attributes& a = decoded.attributes;
  switch (number) {
    case FATTR4_TYPE:
      return ReadType(values, a.type);
    case FATTR4_CHANGE:
      a.change = values.U64();
      return;
    case FATTR4_SIZE:
      a.size_bytes = values.U64();
      return;
    case FATTR4_MODE:
      a.mode = values.U32() & kPermissionBits;
      return;
    case FATTR4_NUMLINKS:
      a.nlink = values.U32();
      return;
    case FATTR4_OWNER:
      a.uid = owners.UidOf(ReadBytes(values), wait);
      return;
    case FATTR4_OWNER_GROUP:
      a.gid = owners.GidOf(ReadBytes(values), wait);
      return;
    case FATTR4_RAWDEV:
      a.rdev_major = values.U32();
      a.rdev_minor = values.U32();
      return;
    case FATTR4_SPACE_USED:
      a.used_bytes = values.U64();
      return;
    case FATTR4_TIME_ACCESS:
      a.atime = ReadTime(values);
      return;
    case FATTR4_TIME_METADATA:
      a.ctime = ReadTime(values);
      return;
    case FATTR4_TIME_MODIFY:
      a.mtime = ReadTime(values);
      return;
    default:
      return ReadIdentity(number, values, decoded);
  }
}

uint32_t ClampTransfer(uint64_t bytes) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(bytes, kTransferBytesMin, kTransferBytesMax));
}

}  // namespace

bool DecodeFileAttributes(rpc::XdrReader& results, const OwnerNames& owners, OwnerWait& wait,
                          FileAttributes& decoded) {
  uint64_t present = 0;
  const bool good = ForEachAttribute(results, present, [&](int number, rpc::XdrReader& values) {
    ReadFile(number, values, owners, wait, decoded);
  });
  if (!good) return false;
  if ((present & Bit(FATTR4_MOUNTED_ON_FILEID)) == 0) {
    decoded.mounted_on_fileid = decoded.attributes.fileid;
  }
  if ((present & Bit(FATTR4_SPACE_USED)) == 0) {
    decoded.attributes.used_bytes = decoded.attributes.size_bytes;
  }
  if ((present & Bit(FATTR4_TIME_ACCESS)) == 0) decoded.attributes.atime = decoded.attributes.mtime;
  decoded.complete = (present & kRequired) == kRequired && decoded.rdattr_error == std::errc{};
  return true;
}

bool DecodeServerAttributes(rpc::XdrReader& results, ServerAttributes& decoded) {
  ServerLimits& limits = decoded.limits;
  limits.read_bytes_max = limits.write_bytes_max = kTransferBytesDefault;
  limits.name_bytes_max = kNameBytesMax;
  uint64_t present = 0;
  const bool good = ForEachAttribute(results, present, [&](int number, rpc::XdrReader& values) {
    switch (number) {
      case FATTR4_LEASE_TIME:
        decoded.lease_seconds = std::max(values.U32(), 1u);
        return;
      case FATTR4_ACLSUPPORT:
        limits.has_acls = (values.U32() & ACL4_SUPPORT_ALLOW_ACL) != 0;
        return;
      case FATTR4_CASE_INSENSITIVE:
        limits.case_insensitive = values.U32() != 0;
        return;
      case FATTR4_MAXNAME:
        limits.name_bytes_max = std::clamp<uint32_t>(values.U32(), 1, kNameBytesMax);
        return;
      case FATTR4_MAXREAD:
        limits.read_bytes_max = ClampTransfer(values.U64());
        return;
      case FATTR4_MAXWRITE:
        limits.write_bytes_max = ClampTransfer(values.U64());
        return;
      default:
        return SkipAttribute(number, values);
    }
  });
  limits.readdir_bytes_max = limits.read_bytes_max;
  return good && (present & Bit(FATTR4_LEASE_TIME)) != 0;
}

// It is the last of what the server sends: all that is left.
bool DecodeAcl(rpc::XdrReader& results, std::optional<std::string_view>& acl) {
  uint64_t present = 0;
  std::string_view bytes;
  const bool good = ForEachAttribute(results, present, [&](int number, rpc::XdrReader& values) {
    if (number != FATTR4_ACL) return SkipAttribute(number, values);
    bytes = values.Opaque(values.bytes_left());
  });
  if (!good || (present & Bit(FATTR4_ACL)) == 0) return good;
  acl = bytes;
  return ReadAcl(bytes).has_value();
}

bool DecodeSpace(rpc::XdrReader& results, FileSystemSpace& decoded) {
  uint64_t present = 0;
  return ForEachAttribute(results, present, [&](int number, rpc::XdrReader& values) {
    switch (number) {
      case FATTR4_FILES_AVAIL:
        decoded.available_files = values.U64();
        return;
      case FATTR4_FILES_FREE:
        decoded.free_files = values.U64();
        return;
      case FATTR4_FILES_TOTAL:
        decoded.total_files = values.U64();
        return;
      case FATTR4_SPACE_AVAIL:
        decoded.available_bytes = values.U64();
        return;
      case FATTR4_SPACE_FREE:
        decoded.free_bytes = values.U64();
        return;
      case FATTR4_SPACE_TOTAL:
        decoded.total_bytes = values.U64();
        return;
      default:
        return SkipAttribute(number, values);
    }
  });
}

}  // namespace nfswalk::protocol
