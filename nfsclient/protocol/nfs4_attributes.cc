// Decodes fattr4: the values in the order of the bits of a bitmap (RFC 7530 2.2.7, 5).
#include <bit>
#include <cstring>
#include <string_view>

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>

#include "nfsclient/protocol/nfs4_decode.h"
#include "nfsclient/protocol/nfs4_status.h"
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

// Reads the values. Past the end returns zeros and clears good().
class ValueReader {
 public:
  explicit ValueReader(const attrlist4& wire)
      : rest_(wire.attrlist4_val, wire.attrlist4_val == nullptr ? 0 : wire.attrlist4_len),
        good_(wire.attrlist4_val != nullptr || wire.attrlist4_len == 0) {}

  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

  uint32_t U32() {
    const std::string_view bytes = Take(4);
    uint32_t value = 0;
    for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }
  uint64_t U64() {
    const uint64_t high = U32();
    return high << 32 | U32();
  }
  // Reads variable-length opaque data: length, bytes, padding.
  std::string_view Bytes() {
    const size_t size = U32();
    return Take((size + 3) / 4 * 4).substr(0, good_ ? size : 0);
  }
  // Cuts nanoseconds of a second and more (WIRE-9).
  Time Timestamp() {
    const auto seconds = static_cast<int64_t>(U64());
    return {seconds, std::min(U32(), kNanosecondsMax)};
  }
  void Skip(size_t bytes) { Take(bytes); }
  void Refuse() { good_ = false; }

 private:
  std::string_view Take(size_t bytes) {
    if (!good_ || bytes > rest_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
  bool good_;
};

// Skips an attribute that was not requested (RFC 7530 5.6, 5.7). Refuses ACLs, locations and the
// two write-only attributes.
void SkipAttribute(int number, ValueReader& values) {
  switch (number) {
    case FATTR4_SUPPORTED_ATTRS:
      return values.Skip(size_t{values.U32()} * 4);
    case FATTR4_MIMETYPE:
    case FATTR4_FILEHANDLE:
    case FATTR4_OWNER:
    case FATTR4_OWNER_GROUP:
      values.Bytes();
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
      return values.Refuse();
  }
}

// Runs read(number, values) for each attribute of the bitmap and sets its bit in `present`. Returns
// false unless the values end where attrlist4 does.
template <typename Read>
bool ForEachAttribute(const fattr4& wire, uint64_t& present, Read read) {
  ValueReader values(wire.attr_vals);
  const bitmap4& mask = wire.attrmask;
  for (u_int word = 0; word < mask.bitmap4_len; ++word) {
    for (uint32_t bits = mask.bitmap4_val[word]; bits != 0; bits &= bits - 1) {
      if (word > 1) return false;  // RFC 7530 5: the highest number is 55
      const int number = static_cast<int>(word) * 32 + std::countr_zero(bits);
      present |= Bit(number);
      read(number, values);
      if (!values.good()) return false;
    }
  }
  return values.at_end();
}

void ReadType(ValueReader& values, FileType& type) {
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
      return values.Refuse();
  }
}

// Reduces fsid4 to 64 bits: concatenates halves below 2^32, which is injective, and hashes others
// (two file systems collide with a probability of 2^-64).
uint64_t CombineFsid(uint64_t major, uint64_t minor) {
  if ((major | minor) >> 32 == 0) return major << 32 | minor;
  return rcu::Mix64(rcu::Mix64(major), minor);
}

void ReadHandle(ValueReader& values, std::optional<FileHandle>& handle) {
  const std::string_view bytes = values.Bytes();
  if (bytes.empty() || bytes.size() > kNfs4HandleBytesMax) return values.Refuse();
  handle = FileHandle({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

// Reads the ids, the handle and RDATTR_ERROR, for ReadFile().
void ReadIdentity(int number, ValueReader& values, FileAttributes& decoded) {
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

void ReadFile(int number, ValueReader& values, const OwnerNames& owners, FileAttributes& decoded) {
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
      a.uid = owners.UidOf(values.Bytes());
      return;
    case FATTR4_OWNER_GROUP:
      a.gid = owners.GidOf(values.Bytes());
      return;
    case FATTR4_RAWDEV:
      a.rdev_major = values.U32();
      a.rdev_minor = values.U32();
      return;
    case FATTR4_SPACE_USED:
      a.used_bytes = values.U64();
      return;
    case FATTR4_TIME_ACCESS:
      a.atime = values.Timestamp();
      return;
    case FATTR4_TIME_METADATA:
      a.ctime = values.Timestamp();
      return;
    case FATTR4_TIME_MODIFY:
      a.mtime = values.Timestamp();
      return;
    default:
      return ReadIdentity(number, values, decoded);
  }
}

uint32_t ClampTransfer(uint64_t bytes) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(bytes, kTransferBytesMin, kTransferBytesMax));
}

}  // namespace

bool DecodeFileAttributes(const fattr4& wire, const OwnerNames& owners, FileAttributes& decoded) {
  uint64_t present = 0;
  const bool good = ForEachAttribute(wire, present, [&](int number, ValueReader& values) {
    ReadFile(number, values, owners, decoded);
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

bool DecodeServerAttributes(const fattr4& wire, ServerAttributes& decoded) {
  ServerLimits& limits = decoded.limits;
  limits.read_bytes_max = limits.write_bytes_max = kTransferBytesDefault;
  limits.name_bytes_max = kNameBytesMax;
  uint64_t present = 0;
  const bool good = ForEachAttribute(wire, present, [&](int number, ValueReader& values) {
    switch (number) {
      case FATTR4_LEASE_TIME:
        decoded.lease_seconds = std::max(values.U32(), 1u);
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

}  // namespace nfswalk::protocol
