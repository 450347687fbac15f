#include "nfsclient/nfs3/decode.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "nfsclient/nfs3/status.h"
#include "rcu/mix64.h"

namespace nfswalk::protocol {
void LeaveOutForeign(OptionalAttributes& object, const OptionalAttributes& directory) {
  if (object && directory && object->fsid != directory->fsid) object.reset();
}

namespace {

using rpc::XdrReader;

constexpr uint32_t kPermissionBits = 07777;
constexpr uint32_t kNanosecondsMax = 999'999'999;
constexpr uint32_t kTransferBytesMin = 1024;
constexpr size_t kAttributesBytes = 84;  // fattr3
// Flavors of RFC 5531 8.2.
constexpr uint32_t kAuthNone = 0;
constexpr uint32_t kAuthSys = 1;

// Each Get() makes the reader bad if the value violates RFC 1813.
void Get(XdrReader& in, FileType& type) {
  // In the order of ftype3, which begins at 1.
  constexpr FileType kTypes[] = {
      FileType::kRegular, FileType::kDirectory, FileType::kBlockDevice, FileType::kCharacterDevice,
      FileType::kSymlink, FileType::kSocket,    FileType::kFifo};
  const uint32_t wire = in.U32();
  if (wire < NF3REG || wire > NF3FIFO) return in.Fail();
  type = kTypes[wire - NF3REG];
}

// Cuts nanoseconds of a second and more (WIRE-9): servers were seen to send 0x3fffffff.
Time GetTime(XdrReader& in) { return {in.U32(), std::min(in.U32(), kNanosecondsMax)}; }

// Replaces the change attribute that version 3 lacks; compared for equality only. A bare exclusive
// or of ctime and mtime would cancel out where a write sets both to the same instant.
uint64_t ChangeOf(uint64_t size_bytes, const Time& mtime, const Time& ctime) {
  const auto nanoseconds = [](const Time& t) {
    return static_cast<uint64_t>(t.seconds) * 1'000'000'000u + t.nanoseconds;
  };
  return rcu::Mix64(rcu::Mix64(rcu::Mix64(nanoseconds(ctime)), nanoseconds(mtime)), size_bytes);
}

void Get(XdrReader& in, Attributes& a) {
  Get(in, a.type);
  a.mode = in.U32() & kPermissionBits;
  a.nlink = in.U32();
  a.uid = in.U32();
  a.gid = in.U32();
  a.size_bytes = in.U64();
  a.used_bytes = in.U64();
  a.rdev_major = in.U32();
  a.rdev_minor = in.U32();
  a.fsid = in.U64();
  a.fileid = in.U64();
  a.atime = GetTime(in);
  a.mtime = GetTime(in);
  a.ctime = GetTime(in);
  a.change = ChangeOf(a.size_bytes, a.mtime, a.ctime);
}

void Get(XdrReader& in, OptionalAttributes& attributes) {
  if (in.Bool()) Get(in, attributes.emplace());
}

void SkipAttributes(XdrReader& in) {
  if (in.Bool()) in.Skip(kAttributesBytes);
}

void Get(XdrReader& in, WeakCacheConsistency& wcc) {
  if (in.Bool()) {
    const uint64_t size_bytes = in.U64();
    const Time mtime = GetTime(in), ctime = GetTime(in);
    wcc.before = PreOpAttributes{ChangeOf(size_bytes, mtime, ctime)};
  }
  Get(in, wcc.after);
}

void Get(XdrReader& in, FileHandle& handle) {
  const std::string_view bytes = in.Bytes(kNfs3HandleBytesMax);
  if (bytes.empty()) return in.Fail();
  handle = FileHandle({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

void Get(XdrReader& in, std::optional<FileHandle>& handle) {
  if (in.Bool()) Get(in, handle.emplace());
}

void GetName(XdrReader& in, std::string& name) {
  const std::string_view bytes = in.Bytes(kNameBytesMax);
  if (CheckName(bytes) != kOk) return in.Fail();
  name = bytes;
}

// Decodes the status and, by `success()` or `failed()`, what follows it.
template <typename Reply, typename Success, typename Failed>
void DecodeUnion(XdrReader& in, Reply& reply, Success success, Failed failed) {
  const auto status = static_cast<int>(in.U32());
  reply.error = ErrnoOfStatus(status);
  if (status == NFS3_OK) {
    success();
  } else {
    failed();
  }
  if (!in.good()) reply = Failure<Reply>(std::errc::io_error);
}

void GetEntry(XdrReader& in, bool plus, DirectoryEntry& entry) {
  entry.fileid = in.U64();
  GetName(in, entry.name);
  entry.cookie = in.U64();
  if (!plus) return;
  Get(in, entry.attributes);
  Get(in, entry.handle);
}

// Reserves for entries as long as the first one.
void GetEntries(XdrReader& in, bool plus, std::vector<DirectoryEntry>& entries) {
  const size_t bytes = in.bytes_left();
  while (in.Bool()) {
    GetEntry(in, plus, entries.emplace_back());
    if (entries.size() == 1) entries.reserve(bytes / (bytes - in.bytes_left()));
  }
}

void GetAcl(XdrReader& in, PosixAcl& acl) {
  constexpr size_t kEntryBytes = 3 * sizeof(uint32_t);
  in.Skip(sizeof(uint32_t));  // the number of entries, which comes twice
  const size_t count = in.U32();
  if (count > kPosixAclEntriesMax || count * kEntryBytes > in.bytes_left()) return in.Fail();
  acl.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t tag = in.U32() & ~uint32_t{NFSACL_TYPE_DEFAULT};
    const uint32_t id = in.U32();
    uint32_t rights = in.U32();
    if (tag == PosixAce::kMask) rights &= 7;
    if (tag > PosixAce::kOther || rights > 7) return in.Fail();
    const bool is_named = tag == PosixAce::kUser || tag == PosixAce::kGroup;
    acl.push_back({static_cast<uint16_t>(tag), static_cast<uint16_t>(rights),
                   is_named ? id : PosixAce::kNoId});
  }
  std::ranges::sort(acl, {}, [](const PosixAce& ace) { return std::pair(ace.tag, ace.id); });
  const auto mask = std::ranges::find(acl, PosixAce::kMask, &PosixAce::tag);
  const auto group = std::ranges::find(acl, PosixAce::kGroupObj, &PosixAce::tag);
  constexpr size_t kEntriesOfMode = 3;
  if (acl.size() == kEntriesOfMode + 1 && mask != acl.end() && group != acl.end() &&
      mask->rights == group->rights) {
    acl.erase(mask);
  }
  if (!acl.empty() && !IsValid(acl)) in.Fail();
}

// writeverf3 and cookieverf3.
uint64_t GetVerifier(XdrReader& in) {
  uint64_t verifier = 0;
  const std::string_view bytes = in.Opaque(sizeof verifier);
  bytes.copy(reinterpret_cast<char*>(&verifier), bytes.size());
  return verifier;
}

void GetListing(XdrReader& in, bool plus, ReadDirPosition requested, ReadDirReply& reply) {
  Get(in, reply.directory);
  reply.verifier = GetVerifier(in);
  GetEntries(in, plus, reply.entries);
  for (DirectoryEntry& entry : reply.entries) LeaveOutForeign(entry.attributes, reply.directory);
  reply.eof = in.Bool();
  const bool moved = !reply.entries.empty() && reply.entries.back().cookie != requested.cookie;
  if (!moved && !reply.eof) in.Fail();
}

uint32_t ClampTransfer(uint32_t bytes) {
  return std::clamp(bytes, kTransferBytesMin, kTransferBytesMax);
}

}  // namespace

void DecodeReply(XdrReader& in, AttributesReply& reply) {
  DecodeUnion(in, reply, [&] { Get(in, reply.attributes); }, [] {});
}

void DecodeReply(XdrReader& in, LookupReply& reply) {
  const auto success = [&] {
    Get(in, reply.handle);
    Get(in, reply.attributes);
    Get(in, reply.directory);
    LeaveOutForeign(reply.attributes, reply.directory);
  };
  DecodeUnion(in, reply, success, [&] { Get(in, reply.directory); });
}

void DecodeReply(XdrReader& in, AccessReply& reply) {
  const auto success = [&] {
    Get(in, reply.attributes);
    reply.granted = in.U32() & kAccessAll;
  };
  DecodeUnion(in, reply, success, [&] { Get(in, reply.attributes); });
}

void DecodeReply(XdrReader& in, ReadLinkReply& reply) {
  const auto success = [&] {
    Get(in, reply.attributes);
    const std::string_view text = in.Bytes(kLinkBytesMax);
    if (CheckLinkText(text) != kOk) return in.Fail();
    reply.target = text;
  };
  DecodeUnion(in, reply, success, [&] { Get(in, reply.attributes); });
}

void DecodeReply(XdrReader& in, std::span<std::byte> into, ReadReply& reply) {
  const auto success = [&] {
    Get(in, reply.attributes);
    reply.count_bytes = in.U32();
    reply.eof = in.Bool();
    const size_t bytes = in.Data(into);
    // An empty READ before the end of the file would make a reader loop.
    const bool stuck = bytes == 0 && !reply.eof && !into.empty();
    if (!in.good() || bytes != reply.count_bytes || stuck) return in.Fail();
  };
  DecodeUnion(in, reply, success, [&] { Get(in, reply.attributes); });
}

std::optional<size_t> FindReadData(std::span<const std::byte> results) {
  XdrReader in(results);
  if (in.U32() != NFS3_OK) return std::nullopt;
  SkipAttributes(in);
  in.Skip(2 * sizeof(uint32_t));  // count, eof
  return in.good() ? std::optional(results.size() - in.bytes_left()) : std::nullopt;
}

void DecodeReply(XdrReader& in, size_t sent_bytes, Stability requested, UnstableWriteReply& reply) {
  const auto success = [&] {
    Get(in, reply.file);
    reply.count_bytes = in.U32();
    reply.committed = Stability{in.U32()};
    if (reply.committed < requested || reply.committed > Stability::kFileSync) in.Fail();
    if (reply.count_bytes > sent_bytes) in.Fail();
    if (reply.count_bytes == 0 && sent_bytes != 0) in.Fail();
    reply.verifier = GetVerifier(in);
  };
  DecodeUnion(in, reply, success, [&] { Get(in, reply.file); });
}

void DecodeReply(XdrReader& in, CommitReply& reply) {
  const auto success = [&] {
    Get(in, reply.file);
    reply.verifier = GetVerifier(in);
  };
  DecodeUnion(in, reply, success, [&] { Get(in, reply.file); });
}

void DecodeReply(XdrReader& in, bool plus, ReadDirPosition requested, ReadDirReply& reply) {
  DecodeUnion(
      in, reply, [&] { GetListing(in, plus, requested, reply); },
      [&] {
        if (reply.error == std::errc::no_such_file_or_directory) reply.error = kStale;
        Get(in, reply.directory);
      });
}

void DecodeReply(XdrReader& in, CreateReply& reply) {
  const auto success = [&] {
    Get(in, reply.handle);
    Get(in, reply.attributes);
    Get(in, reply.directory);
    LeaveOutForeign(reply.attributes, reply.directory.after);
  };
  DecodeUnion(in, reply, success, [&] { Get(in, reply.directory); });
}

void DecodeReply(XdrReader& in, LinkReply& reply) {
  const auto either = [&] {
    Get(in, reply.attributes);
    Get(in, reply.directory);
  };
  DecodeUnion(in, reply, either, either);
}

void DecodeReply(XdrReader& in, RenameReply& reply) {
  const auto either = [&] {
    Get(in, reply.from_directory);
    Get(in, reply.to_directory);
  };
  DecodeUnion(in, reply, either, either);
}

void DecodeReply(XdrReader& in, RemoveReply& reply) {
  const auto either = [&] { Get(in, reply.directory); };
  DecodeUnion(in, reply, either, either);
}

void DecodeReply(XdrReader& in, FileChangeReply& reply) {
  const auto either = [&] { Get(in, reply.file); };
  DecodeUnion(in, reply, either, either);
}

void DecodeReply(XdrReader& in, AclsReply& reply) {
  const auto success = [&] {
    Get(in, reply.file);
    const uint32_t sent = in.U32();
    GetAcl(in, reply.access);
    GetAcl(in, reply.inherited);
    // A list that was left out is not one without entries.
    constexpr uint32_t kAccess = NFSACL_MASK_ACL_ENTRY | NFSACL_MASK_ACL_COUNT;
    constexpr uint32_t kDefault = NFSACL_MASK_ACL_DEFAULT_ENTRY | NFSACL_MASK_ACL_DEFAULT_COUNT;
    const bool may_have_default = !reply.file || reply.file->type == FileType::kDirectory;
    const uint32_t needed = kAccess | (may_have_default ? kDefault : 0);
    if ((sent & needed) != needed) in.Fail();
  };
  DecodeUnion(in, reply, success, [] {});
}

void DecodeSetAcl(XdrReader& in, FileChangeReply& reply) {
  const auto success = [&] { SkipAttributes(in); };
  DecodeUnion(in, reply, success, [] {});
}

void DecodeReply(XdrReader& in, SpaceReply& reply) {
  const auto success = [&] {
    SkipAttributes(in);
    FileSystemSpace& space = reply.space;
    for (uint64_t* value : {&space.total_bytes, &space.free_bytes, &space.available_bytes,
                            &space.total_files, &space.free_files, &space.available_files}) {
      *value = in.U64();
    }
    in.Skip(4);  // invarsec
  };
  DecodeUnion(in, reply, success, [&] { SkipAttributes(in); });
}

void DecodeFsInfo(XdrReader& in, LimitsReply& reply) {
  const auto success = [&] {
    SkipAttributes(in);
    reply.limits.read_bytes_max = ClampTransfer(in.U32());
    in.Skip(8);  // rtpref, rtmult
    reply.limits.write_bytes_max = ClampTransfer(in.U32());
    in.Skip(8);  // wtpref, wtmult
    reply.limits.readdir_bytes_max = ClampTransfer(in.U32());
    in.Skip(20);  // maxfilesize, time_delta, properties
  };
  DecodeUnion(in, reply, success, [&] { SkipAttributes(in); });
}

void DecodePathConf(XdrReader& in, LimitsReply& reply) {
  const auto success = [&] {
    SkipAttributes(in);
    in.Skip(4);  // linkmax
    reply.limits.name_bytes_max = std::clamp<uint32_t>(in.U32(), 1, kNameBytesMax);
    in.Skip(8);  // no_trunc, chown_restricted
    reply.limits.case_insensitive = in.Bool();
    in.Skip(4);  // case_preserving
  };
  DecodeUnion(in, reply, success, [&] { SkipAttributes(in); });
}

void DecodeReply(XdrReader& in, ExportReply& reply) {
  const auto success = [&] {
    Get(in, reply.root);
    uint32_t flavors = in.U32();
    // Servers older than RFC 2623 send an empty list.
    reply.flavor_ok = flavors == 0;
    for (; flavors > 0 && in.good(); --flavors) {
      const uint32_t flavor = in.U32();
      reply.flavor_ok |= flavor == kAuthNone || flavor == kAuthSys;
    }
  };
  DecodeUnion(in, reply, success, [] {});
}

}  // namespace nfswalk::protocol
