#include "nfsclient/protocol/nfs4_decode.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/protocol/internal_errors.h"
#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/protocol/wire_value.h"

namespace nfswalk::protocol {
namespace {

bool Checked(CompoundReader& reader, bool good) {
  if (!good) reader.Fail();
  return good;
}

// Returns a pair of length and pointer of libnfs as a view.
std::string_view BytesOf(size_t size, const char* data) {
  return data == nullptr ? std::string_view() : std::string_view(data, size);
}

bool Get(const utf8string& wire, size_t bytes_max, std::string& text) {
  const std::string_view bytes = BytesOf(wire.utf8string_len, wire.utf8string_val);
  if (bytes.empty() || bytes.size() > bytes_max || bytes.find('\0') != bytes.npos) return false;
  text = bytes;
  return true;
}

// Refuses "." and ".." too: READDIR returns neither (RFC 7530 16.24).
bool GetName(const utf8string& wire, std::string& name) {
  return Get(wire, kNameBytesMax, name) && name.find('/') == name.npos && name != "." &&
         name != "..";
}

ChangeInfo ToChangeInfo(const change_info4& wire) {
  return {wire.atomic != 0, wire.before, wire.after};
}

StateId ToStateId(const stateid4& wire) {
  StateId state;
  state.sequence = wire.seqid;
  static_assert(sizeof wire.other == sizeof state.other);
  std::memcpy(state.other.data(), wire.other, sizeof wire.other);
  return state;
}

// Refuses cookie 0, the beginning of a directory (RFC 7530 16.24), from which a listing would loop.
bool GetEntry(const entry4& wire, const OwnerNames& owners, DirectoryEntry& entry) {
  FileAttributes decoded;
  if (wire.cookie == 0 || !GetName(wire.name, entry.name) ||
      !DecodeFileAttributes(wire.attrs, owners, decoded)) {
    return false;
  }
  entry.cookie = wire.cookie;
  entry.fileid = decoded.mounted_on_fileid;
  if (!decoded.complete) return true;
  entry.attributes = decoded.attributes;
  entry.handle = decoded.handle;
  return true;
}

bool GetEntries(const entry4* first, const OwnerNames& owners,
                std::vector<DirectoryEntry>& entries) {
  // Copied: libnfs aligns list elements to four bytes, their 64-bit fields need eight.
  entry4 wire;
  for (const void* at = first; at != nullptr; at = wire.nextentry) {
    std::memcpy(&wire, at, sizeof wire);
    if (!GetEntry(wire, owners, entries.emplace_back())) return false;
  }
  return true;
}

}  // namespace

bool TakeHandle(CompoundReader& reader, FileHandle& handle) {
  const nfs_resop4* result = reader.Next(OP_GETFH);
  if (result == nullptr) return false;
  const nfs_fh4& wire = result->nfs_resop4_u.opgetfh.GETFH4res_u.resok4.object;
  const std::string_view bytes = BytesOf(wire.nfs_fh4_len, wire.nfs_fh4_val);
  if (!Checked(reader, !bytes.empty() && bytes.size() <= kNfs4HandleBytesMax)) return false;
  handle = FileHandle({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return true;
}

bool TakeAttributes(CompoundReader& reader, const OwnerNames& owners, Attributes& attributes) {
  const nfs_resop4* result = reader.Next(OP_GETATTR);
  if (result == nullptr) return false;
  const fattr4& wire = result->nfs_resop4_u.opgetattr.GETATTR4res_u.resok4.obj_attributes;
  FileAttributes decoded;
  if (!Checked(reader, DecodeFileAttributes(wire, owners, decoded) && decoded.complete))
    return false;
  attributes = decoded.attributes;
  return true;
}

bool TakeLimits(CompoundReader& reader, ServerAttributes& decoded) {
  const nfs_resop4* result = reader.Next(OP_GETATTR);
  if (result == nullptr) return false;
  const fattr4& wire = result->nfs_resop4_u.opgetattr.GETATTR4res_u.resok4.obj_attributes;
  return Checked(reader, DecodeServerAttributes(wire, decoded));
}

bool TakeAccess(CompoundReader& reader, uint32_t& granted) {
  const nfs_resop4* result = reader.Next(OP_ACCESS);
  if (result == nullptr) return false;
  const ACCESS4resok& ok = result->nfs_resop4_u.opaccess.ACCESS4res_u.resok4;
  granted = ok.access & ok.supported & kAccessAll;
  return true;
}

bool TakeLinkText(CompoundReader& reader, std::string& target) {
  const nfs_resop4* result = reader.Next(OP_READLINK);
  if (result == nullptr) return false;
  const linktext4& wire = result->nfs_resop4_u.opreadlink.READLINK4res_u.resok4.link;
  return Checked(reader, Get(wire, kLinkBytesMax, target));
}

bool TakeRead(CompoundReader& reader, std::span<std::byte> into, ReadReply& reply) {
  const nfs_resop4* result = reader.Next(OP_READ);
  if (result == nullptr) return false;
  const READ4resok& ok = result->nfs_resop4_u.opread.READ4res_u.resok4;
  const std::string_view data = BytesOf(ok.data.data_len, ok.data.data_val);
  // An empty READ before the end of the file would make a reader loop.
  const bool stuck = data.empty() && ok.eof == 0 && !into.empty();
  if (!Checked(reader, data.size() <= into.size() && !stuck)) return false;
  if (!data.empty()) std::memcpy(into.data(), data.data(), data.size());
  reply.count_bytes = data.size();
  reply.eof = ok.eof != 0;
  return true;
}

bool TakeWrite(CompoundReader& reader, size_t sent_bytes, size_t& count_bytes) {
  const nfs_resop4* result = reader.Next(OP_WRITE);
  if (result == nullptr) return false;
  const WRITE4resok& ok = result->nfs_resop4_u.opwrite.WRITE4res_u.resok4;
  const bool good = ok.count <= sent_bytes && (ok.count > 0 || sent_bytes == 0) &&
                    WireValue(ok.committed) == FILE_SYNC4;
  if (!Checked(reader, good)) return false;
  count_bytes = ok.count;
  return true;
}

bool TakeEntries(CompoundReader& reader, const OwnerNames& owners, ReadDirPosition requested,
                 ReadDirReply& reply) {
  const nfs_resop4* result = reader.Next(OP_READDIR);
  if (result == nullptr) return false;
  const READDIR4resok& ok = result->nfs_resop4_u.opreaddir.READDIR4res_u.resok4;
  std::vector<DirectoryEntry> entries;
  if (!Checked(reader, GetEntries(ok.reply.entries, owners, entries))) return false;
  const bool eof = ok.reply.eof != 0;
  if (entries.empty() && !eof) {
    reader.Fail(kTooSmall);
    return false;
  }
  if (!Checked(reader, eof || entries.back().cookie != requested.cookie)) return false;
  static_assert(sizeof ok.cookieverf == sizeof reply.verifier);
  std::memcpy(&reply.verifier, ok.cookieverf, sizeof reply.verifier);
  reply.entries = std::move(entries);
  reply.eof = eof;
  return true;
}

bool TakeCreated(CompoundReader& reader, ChangeInfo& directory) {
  const nfs_resop4* result = reader.Next(OP_CREATE);
  if (result == nullptr) return false;
  directory = ToChangeInfo(result->nfs_resop4_u.opcreate.CREATE4res_u.resok4.cinfo);
  return true;
}

bool TakeRemoved(CompoundReader& reader, ChangeInfo& directory) {
  const nfs_resop4* result = reader.Next(OP_REMOVE);
  if (result == nullptr) return false;
  directory = ToChangeInfo(result->nfs_resop4_u.opremove.REMOVE4res_u.resok4.cinfo);
  return true;
}

bool TakeLinked(CompoundReader& reader, ChangeInfo& directory) {
  const nfs_resop4* result = reader.Next(OP_LINK);
  if (result == nullptr) return false;
  directory = ToChangeInfo(result->nfs_resop4_u.oplink.LINK4res_u.resok4.cinfo);
  return true;
}

bool TakeRenamed(CompoundReader& reader, ChangeInfo& from_directory, ChangeInfo& to_directory) {
  const nfs_resop4* result = reader.Next(OP_RENAME);
  if (result == nullptr) return false;
  const RENAME4resok& ok = result->nfs_resop4_u.oprename.RENAME4res_u.resok4;
  from_directory = ToChangeInfo(ok.source_cinfo);
  to_directory = ToChangeInfo(ok.target_cinfo);
  return true;
}

WeakCacheConsistency Consistency(const ChangeInfo& change, const OptionalAttributes& now) {
  // Leaves `now` out if it includes a later change by another client.
  const bool ours = now && now->change == change.after;
  return {.before = PreOpAttributes{.change = change.before},
          .after = ours ? now : std::nullopt,
          .atomic = change.atomic && ours};
}

bool TakeClientId(CompoundReader& reader, ClientIdGrant& grant) {
  const nfs_resop4* result = reader.Next(OP_SETCLIENTID);
  if (result == nullptr) return false;
  const SETCLIENTID4resok& ok = result->nfs_resop4_u.opsetclientid.SETCLIENTID4res_u.resok4;
  grant.client_id = ok.clientid;
  static_assert(sizeof ok.setclientid_confirm == sizeof grant.verifier);
  std::memcpy(&grant.verifier, ok.setclientid_confirm, sizeof grant.verifier);
  return true;
}

bool TakeOpen(CompoundReader& reader, OpenGrant& grant) {
  const nfs_resop4* result = reader.Next(OP_OPEN);
  if (result == nullptr) return false;
  const OPEN4resok& ok = result->nfs_resop4_u.opopen.OPEN4res_u.resok4;
  grant.state = ToStateId(ok.stateid);
  grant.directory = ToChangeInfo(ok.cinfo);
  grant.must_confirm = (ok.rflags & OPEN4_RESULT_CONFIRM) != 0;
  return true;
}

bool TakeConfirmed(CompoundReader& reader, StateId& state) {
  const nfs_resop4* result = reader.Next(OP_OPEN_CONFIRM);
  if (result == nullptr) return false;
  state = ToStateId(result->nfs_resop4_u.opopen_confirm.OPEN_CONFIRM4res_u.resok4.open_stateid);
  return true;
}

bool TakeClosed(CompoundReader& reader) { return reader.Next(OP_CLOSE) != nullptr; }

}  // namespace nfswalk::protocol
