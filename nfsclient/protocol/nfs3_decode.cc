#include "nfsclient/protocol/nfs3_decode.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "nfsclient/protocol/nfs3_status.h"
#include "nfsclient/protocol/wire_value.h"
#include "rcu/mix64.h"

namespace nfswalk::protocol {
namespace {

constexpr uint32_t kPermissionBits = 07777;
constexpr uint32_t kNanosecondsMax = 999'999'999;
constexpr uint32_t kTransferBytesMin = 1024;

// Each Get() returns false if the value violates RFC 1813.
bool Get(const ftype3& wire, FileType& type) {
  switch (WireValue(wire)) {
    case NF3REG:
      type = FileType::kRegular;
      return true;
    case NF3DIR:
      type = FileType::kDirectory;
      return true;
    case NF3BLK:
      type = FileType::kBlockDevice;
      return true;
    case NF3CHR:
      type = FileType::kCharacterDevice;
      return true;
    case NF3LNK:
      type = FileType::kSymlink;
      return true;
    case NF3SOCK:
      type = FileType::kSocket;
      return true;
    case NF3FIFO:
      type = FileType::kFifo;
      return true;
  }
  return false;
}

// Cuts nanoseconds of a second and more (WIRE-9): servers were seen to send 0x3fffffff.
Time ToTime(const nfstime3& wire) {
  return {wire.seconds, std::min(wire.nseconds, kNanosecondsMax)};
}

// Replaces the change attribute that version 3 lacks; compared for equality only. A bare exclusive
// or of ctime and mtime would cancel out where a write sets both to the same instant.
uint64_t ChangeOf(const Attributes& a) {
  const auto nanoseconds = [](const Time& t) {
    return static_cast<uint64_t>(t.seconds) * 1'000'000'000u + t.nanoseconds;
  };
  return rcu::Mix64(rcu::Mix64(rcu::Mix64(nanoseconds(a.ctime)), nanoseconds(a.mtime)),
                    a.size_bytes);
}

bool Get(const fattr3& wire, Attributes& a) {
  if (!Get(wire.type, a.type)) return false;
  a.mode = wire.mode & kPermissionBits;
  a.nlink = wire.nlink;
  a.uid = wire.uid;
  a.gid = wire.gid;
  a.size_bytes = wire.size;
  a.used_bytes = wire.used;
  a.rdev_major = wire.rdev.specdata1;
  a.rdev_minor = wire.rdev.specdata2;
  a.fsid = wire.fsid;
  a.fileid = wire.fileid;
  a.atime = ToTime(wire.atime);
  a.mtime = ToTime(wire.mtime);
  a.ctime = ToTime(wire.ctime);
  a.change = ChangeOf(a);
  return true;
}

bool Get(const post_op_attr& wire, OptionalAttributes& attributes) {
  if (wire.attributes_follow == 0) return true;
  return Get(wire.post_op_attr_u.attributes, attributes.emplace());
}

bool Get(const wcc_data& wire, WeakCacheConsistency& wcc) {
  if (wire.before.attributes_follow != 0) {
    const wcc_attr& before = wire.before.pre_op_attr_u.attributes;
    wcc.before = PreOpAttributes{before.size, ToTime(before.mtime), ToTime(before.ctime)};
  }
  return Get(wire.after, wcc.after);
}

bool Get(const nfs_fh3& wire, FileHandle& handle) {
  const size_t size = wire.data.data_len;
  if (size == 0 || size > kNfs3HandleBytesMax || wire.data.data_val == nullptr) return false;
  handle = FileHandle({reinterpret_cast<const uint8_t*>(wire.data.data_val), size});
  return true;
}

bool Get(const post_op_fh3& wire, std::optional<FileHandle>& handle) {
  if (wire.handle_follows == 0) return true;
  return Get(wire.post_op_fh3_u.handle, handle.emplace());
}

bool Get(const char* wire, size_t bytes_max, std::string& text) {
  if (wire == nullptr) return false;
  const size_t size = strnlen(wire, bytes_max + 1);
  if (size == 0 || size > bytes_max) return false;
  text.assign(wire, size);
  return true;
}

bool GetName(const char* wire, std::string& name) {
  return Get(wire, kNameBytesMax, name) && name.find('/') == std::string::npos;
}

template <typename Reply>
void SetMalformed(Reply& reply) {
  reply = Reply{};
  reply.error = std::errc::io_error;
}

bool GetEntry(const entry3& wire, DirectoryEntry& entry) {
  entry.fileid = wire.fileid;
  entry.cookie = wire.cookie;
  return GetName(wire.name, entry.name);
}

bool GetEntry(const entryplus3& wire, DirectoryEntry& entry) {
  entry.fileid = wire.fileid;
  entry.cookie = wire.cookie;
  return GetName(wire.name, entry.name) && Get(wire.name_attributes, entry.attributes) &&
         Get(wire.name_handle, entry.handle);
}

template <typename Ok>
bool GetEntries(const Ok& ok, ReadDirPosition requested, ReadDirReply& reply) {
  static_assert(sizeof ok.cookieverf == sizeof reply.verifier);
  std::memcpy(&reply.verifier, ok.cookieverf, sizeof reply.verifier);
  reply.eof = ok.reply.eof != 0;
  // Copied: libnfs aligns list elements to four bytes, their 64-bit fields need eight.
  std::remove_pointer_t<decltype(ok.reply.entries)> wire;
  for (const void* at = ok.reply.entries; at != nullptr; at = wire.nextentry) {
    std::memcpy(&wire, at, sizeof wire);
    if (!GetEntry(wire, reply.entries.emplace_back())) return false;
  }
  const bool moved = !reply.entries.empty() && reply.entries.back().cookie != requested.cookie;
  return (moved || reply.eof) && Get(ok.dir_attributes, reply.directory);
}

template <typename Ok, typename Fail>
void DecodeDirectory(int status, const Ok& ok, const Fail& fail, ReadDirPosition requested,
                     ReadDirReply& reply) {
  reply.error = status == NFS3ERR_NOENT ? kStale : ErrnoOfStatus(status);
  const bool good = status == NFS3_OK ? GetEntries(ok, requested, reply)
                                      : Get(fail.dir_attributes, reply.directory);
  if (!good) SetMalformed(reply);
}

template <typename Ok, typename Fail>
void DecodeCreated(int status, const Ok& ok, const Fail& fail, CreateReply& reply) {
  reply.error = ErrnoOfStatus(status);
  const bool good = status == NFS3_OK
                        ? Get(ok.obj, reply.handle) && Get(ok.obj_attributes, reply.attributes) &&
                              Get(ok.dir_wcc, reply.directory)
                        : Get(fail.dir_wcc, reply.directory);
  if (!good) SetMalformed(reply);
}

uint32_t ClampTransfer(uint32_t bytes) {
  return std::clamp(bytes, kTransferBytesMin, kTransferBytesMax);
}

}  // namespace

void DecodeReply(const GETATTR3res& wire, AttributesReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  if (WireValue(wire.status) != NFS3_OK) return;
  if (!Get(wire.GETATTR3res_u.resok.obj_attributes, reply.attributes)) SetMalformed(reply);
}

void DecodeReply(const LOOKUP3res& wire, LookupReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  const LOOKUP3resok& ok = wire.LOOKUP3res_u.resok;
  const bool good = WireValue(wire.status) == NFS3_OK
                        ? Get(ok.object, reply.handle) &&
                              Get(ok.obj_attributes, reply.attributes) &&
                              Get(ok.dir_attributes, reply.directory)
                        : Get(wire.LOOKUP3res_u.resfail.dir_attributes, reply.directory);
  if (!good) SetMalformed(reply);
}

void DecodeReply(const ACCESS3res& wire, AccessReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  const ACCESS3resok& ok = wire.ACCESS3res_u.resok;
  const bool good =
      Get(WireValue(wire.status) == NFS3_OK ? ok.obj_attributes
                                            : wire.ACCESS3res_u.resfail.obj_attributes,
          reply.attributes);
  if (!good) return SetMalformed(reply);
  if (WireValue(wire.status) == NFS3_OK) reply.granted = ok.access & kAccessAll;
}

void DecodeReply(const READLINK3res& wire, ReadLinkReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  const READLINK3resok& ok = wire.READLINK3res_u.resok;
  const bool good = WireValue(wire.status) == NFS3_OK
                        ? Get(ok.data, kLinkBytesMax, reply.target) &&
                              Get(ok.symlink_attributes, reply.attributes)
                        : Get(wire.READLINK3res_u.resfail.symlink_attributes, reply.attributes);
  if (!good) SetMalformed(reply);
}

void DecodeReply(const READ3res& wire, std::span<std::byte> into, ReadReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  if (WireValue(wire.status) != NFS3_OK) {
    if (!Get(wire.READ3res_u.resfail.file_attributes, reply.attributes)) SetMalformed(reply);
    return;
  }
  const READ3resok& ok = wire.READ3res_u.resok;
  const size_t size = ok.data.data_len;
  // An empty READ before the end of the file would make a reader loop.
  const bool stuck = size == 0 && ok.eof == 0 && !into.empty();
  const bool good = size == ok.count && size <= into.size() && !stuck &&
                    (size == 0 || ok.data.data_val != nullptr) &&
                    Get(ok.file_attributes, reply.attributes);
  if (!good) return SetMalformed(reply);
  if (size != 0) std::memcpy(into.data(), ok.data.data_val, size);
  reply.count_bytes = size;
  reply.eof = ok.eof != 0;
}

void DecodeReply(const WRITE3res& wire, size_t sent_bytes, WriteReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  const WRITE3resok& ok = wire.WRITE3res_u.resok;
  const bool good = WireValue(wire.status) == NFS3_OK
                        ? ok.count <= sent_bytes && (ok.count > 0 || sent_bytes == 0) &&
                              WireValue(ok.committed) == FILE_SYNC && Get(ok.file_wcc, reply.file)
                        : Get(wire.WRITE3res_u.resfail.file_wcc, reply.file);
  if (!good) return SetMalformed(reply);
  if (WireValue(wire.status) == NFS3_OK) reply.count_bytes = ok.count;
}

void DecodeReply(const READDIR3res& wire, ReadDirPosition requested, ReadDirReply& reply) {
  DecodeDirectory(WireValue(wire.status), wire.READDIR3res_u.resok, wire.READDIR3res_u.resfail,
                  requested, reply);
}

void DecodeReply(const READDIRPLUS3res& wire, ReadDirPosition requested, ReadDirReply& reply) {
  DecodeDirectory(WireValue(wire.status), wire.READDIRPLUS3res_u.resok,
                  wire.READDIRPLUS3res_u.resfail, requested, reply);
}

void DecodeReply(const CREATE3res& wire, CreateReply& reply) {
  DecodeCreated(WireValue(wire.status), wire.CREATE3res_u.resok, wire.CREATE3res_u.resfail, reply);
}

void DecodeReply(const MKDIR3res& wire, CreateReply& reply) {
  DecodeCreated(WireValue(wire.status), wire.MKDIR3res_u.resok, wire.MKDIR3res_u.resfail, reply);
}

void DecodeReply(const SYMLINK3res& wire, CreateReply& reply) {
  DecodeCreated(WireValue(wire.status), wire.SYMLINK3res_u.resok, wire.SYMLINK3res_u.resfail,
                reply);
}

void DecodeReply(const LINK3res& wire, LinkReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  // LINK3resok and LINK3resfail have the same fields.
  const LINK3resok& ok = wire.LINK3res_u.resok;
  const LINK3resfail& fail = wire.LINK3res_u.resfail;
  const bool good =
      WireValue(wire.status) == NFS3_OK
          ? Get(ok.file_attributes, reply.attributes) && Get(ok.linkdir_wcc, reply.directory)
          : Get(fail.file_attributes, reply.attributes) && Get(fail.linkdir_wcc, reply.directory);
  if (!good) SetMalformed(reply);
}

void DecodeReply(const RENAME3res& wire, RenameReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  const RENAME3resok& ok = wire.RENAME3res_u.resok;
  const RENAME3resfail& fail = wire.RENAME3res_u.resfail;
  const bool good =
      WireValue(wire.status) == NFS3_OK
          ? Get(ok.fromdir_wcc, reply.from_directory) && Get(ok.todir_wcc, reply.to_directory)
          : Get(fail.fromdir_wcc, reply.from_directory) && Get(fail.todir_wcc, reply.to_directory);
  if (!good) SetMalformed(reply);
}

void DecodeReply(const REMOVE3res& wire, RemoveReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  const bool good = Get(WireValue(wire.status) == NFS3_OK ? wire.REMOVE3res_u.resok.dir_wcc
                                                          : wire.REMOVE3res_u.resfail.dir_wcc,
                        reply.directory);
  if (!good) SetMalformed(reply);
}

void DecodeReply(const RMDIR3res& wire, RemoveReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  const bool good = Get(WireValue(wire.status) == NFS3_OK ? wire.RMDIR3res_u.resok.dir_wcc
                                                          : wire.RMDIR3res_u.resfail.dir_wcc,
                        reply.directory);
  if (!good) SetMalformed(reply);
}

void DecodeReply(const SETATTR3res& wire, SetAttributesReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  const bool good = Get(WireValue(wire.status) == NFS3_OK ? wire.SETATTR3res_u.resok.obj_wcc
                                                          : wire.SETATTR3res_u.resfail.obj_wcc,
                        reply.file);
  if (!good) SetMalformed(reply);
}

void DecodeReply(const FSINFO3res& wire, LimitsReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  if (WireValue(wire.status) != NFS3_OK) return;
  const FSINFO3resok& ok = wire.FSINFO3res_u.resok;
  reply.limits.read_bytes_max = ClampTransfer(ok.rtmax);
  reply.limits.write_bytes_max = ClampTransfer(ok.wtmax);
  reply.limits.readdir_bytes_max = ClampTransfer(ok.dtpref);
}

void DecodeReply(const PATHCONF3res& wire, LimitsReply& reply) {
  reply.error = ErrnoOfStatus(WireValue(wire.status));
  if (WireValue(wire.status) != NFS3_OK) return;
  const PATHCONF3resok& ok = wire.PATHCONF3res_u.resok;
  reply.limits.name_bytes_max = std::clamp<uint32_t>(ok.name_max, 1, kNameBytesMax);
  reply.limits.case_insensitive = ok.case_insensitive != 0;
}

}  // namespace nfswalk::protocol
