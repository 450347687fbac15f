#include "nfsclient/nfs4/decode.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/internal_errors.h"

namespace nfswalk::protocol {
namespace {

// Limit of opaque data in the protocol (RFC 7530 2.1, NFS4_OPAQUE_LIMIT).
constexpr size_t kOpaqueBytesMax = 1024;

// Reads eight bytes that are opaque: a verifier.
uint64_t ReadVerifier(rpc::XdrReader& body) {
  uint64_t verifier = 0;
  const std::string_view bytes = body.Opaque(sizeof verifier);
  if (!bytes.empty()) std::memcpy(&verifier, bytes.data(), sizeof verifier);
  return verifier;
}

ChangeInfo ReadChange(rpc::XdrReader& body) {
  ChangeInfo change;
  change.atomic = body.Bool();
  change.before = body.U64();
  change.after = body.U64();
  return change;
}

ChannelAttributes ReadChannel(rpc::XdrReader& body) {
  ChannelAttributes channel;
  (void)body.U32();  // ca_headerpadsize
  channel.request_bytes_max = body.U32();
  channel.response_bytes_max = body.U32();
  channel.cached_bytes_max = body.U32();
  channel.operations_max = body.U32();
  channel.slots = body.U32();
  const uint32_t rdma_values = body.U32();
  if (rdma_values > 1) body.Fail();
  body.Skip(rdma_values * sizeof(uint32_t));
  return channel;
}

// READDIR returns neither "." nor ".." (RFC 7530 16.24).
bool IsEntryName(std::string_view name) {
  return CheckName(name) == std::errc{} && name != "." && name != "..";
}

// Refuses cookie 0, the beginning of a directory (RFC 7530 16.24), from which a listing would loop.
bool ReadEntry(rpc::XdrReader& body, const OwnerNames& owners, OwnerWait& wait,
               DirectoryEntry& entry) {
  entry.cookie = body.U64();
  const std::string_view name = body.Bytes(kNameBytesMax);
  FileAttributes decoded;
  if (entry.cookie == 0 || !IsEntryName(name) ||
      !DecodeFileAttributes(body, owners, wait, decoded)) {
    return false;
  }
  entry.name = name;
  entry.fileid = decoded.mounted_on_fileid;
  if (!decoded.complete) return true;
  entry.attributes = decoded.attributes;
  entry.handle = decoded.handle;
  return true;
}

// OPEN_DELEGATE_NONE_EXT, WND4_CONTENTION and WND4_RESOURCE (RFC 8881 18.16).
constexpr uint32_t kDelegateNoneExt = 3;
constexpr uint32_t kWhyContention = 1;
constexpr uint32_t kWhyResource = 2;
constexpr uint32_t kWhyMax = 8;  // WND4_IS_DIR

// Takes an open_delegation4 (RFC 7530 16.16, RFC 8881 18.16). Its ACE is not used: the server may
// grant nothing by it.
bool ReadDelegation(rpc::XdrReader& body, std::optional<DelegationGrant>& delegation) {
  const uint32_t type = body.U32();
  if (type == OPEN_DELEGATE_NONE) return true;
  if (type == kDelegateNoneExt) {
    const uint32_t why = body.U32();
    if (why > kWhyMax) return false;
    if (why == kWhyContention || why == kWhyResource) (void)body.Bool();
    return true;
  }
  if (type != OPEN_DELEGATE_READ && type != OPEN_DELEGATE_WRITE) return false;
  DelegationGrant& taken = delegation.emplace();
  taken.state = ReadState(body);
  taken.is_recalled = body.Bool();
  taken.for_writing = type == OPEN_DELEGATE_WRITE;
  if (taken.for_writing) {
    const uint32_t limit = body.U32();
    if (limit != NFS_LIMIT_SIZE && limit != NFS_LIMIT_BLOCKS) return false;
    (void)body.U64();
  }
  constexpr size_t kAceWords = 3;  // before the name
  body.Skip(kAceWords * sizeof(uint32_t));
  (void)body.Bytes(kOpaqueBytesMax);
  return true;
}

// Takes a result that begins with change_info4, the only part that is used.
bool TakeChange(CompoundReader& reader, int operation, ChangeInfo& directory) {
  if (!reader.Next(operation)) return false;
  const ChangeInfo change = ReadChange(reader.body());
  if (operation == OP_CREATE) reader.SkipBitmap();
  if (!reader.TakeBody(true)) return false;
  directory = change;
  return true;
}

// Reads a bitmap4 of which no attribute above 63 counts.
uint64_t ReadFirstBits(rpc::XdrReader& body) {
  uint64_t bits = 0;
  const size_t words = body.U32();
  for (size_t word = 0; word < std::min<size_t>(words, 2); ++word) {
    bits |= uint64_t{body.U32()} << 32 * word;
  }
  body.Skip((words - std::min<size_t>(words, 2)) * sizeof(uint32_t));
  return bits;
}

// Takes a result that is a state id.
bool TakeState(CompoundReader& reader, int operation, StateId& state) {
  if (!reader.Next(operation)) return false;
  const StateId taken = ReadState(reader.body());
  if (!reader.TakeBody(true)) return false;
  state = taken;
  return true;
}

}  // namespace

// Reads a handle; empty: not valid.
FileHandle ReadHandle(rpc::XdrReader& body) {
  const std::string_view bytes = body.Bytes(kNfs4HandleBytesMax);
  return FileHandle({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

StateId ReadState(rpc::XdrReader& body) {
  StateId state;
  state.sequence = body.U32();
  const std::string_view other = body.Opaque(state.other.size());
  std::copy(other.begin(), other.end(), state.other.begin());
  return state;
}

bool TakeHandle(CompoundReader& reader, FileHandle& handle) {
  if (!reader.Next(OP_GETFH)) return false;
  const FileHandle taken = ReadHandle(reader.body());
  if (!reader.TakeBody(!taken.empty())) return false;
  handle = taken;
  return true;
}

bool TakeAttributes(CompoundReader& reader, const OwnerNames& owners, Attributes& attributes) {
  if (!reader.Next(OP_GETATTR)) return false;
  FileAttributes decoded;
  const bool good = DecodeFileAttributes(reader.body(), owners, reader.owner_wait(), decoded);
  if (!reader.TakeBody(good && decoded.complete)) return false;
  attributes = decoded.attributes;
  return true;
}

OptionalAttributes TakeOptionalAttributes(CompoundReader& reader, const OwnerNames& owners) {
  Attributes attributes;
  if (!TakeAttributes(reader, owners, attributes)) return std::nullopt;
  return attributes;
}

bool TakeLimits(CompoundReader& reader, ServerAttributes& decoded) {
  if (!reader.Next(OP_GETATTR)) return false;
  ServerAttributes taken;
  if (!reader.TakeBody(DecodeServerAttributes(reader.body(), taken))) return false;
  decoded = taken;
  return true;
}

bool TakeSpace(CompoundReader& reader, FileSystemSpace& space) {
  if (!reader.Next(OP_GETATTR)) return false;
  FileSystemSpace taken;
  if (!reader.TakeBody(DecodeSpace(reader.body(), taken))) return false;
  space = taken;
  return true;
}

bool TakeAccess(CompoundReader& reader, uint32_t& granted) {
  if (!reader.Next(OP_ACCESS)) return false;
  const uint32_t supported = reader.body().U32();
  const uint32_t access = reader.body().U32();
  if (!reader.TakeBody(true)) return false;
  granted = access & supported & kAccessAll;
  return true;
}

bool TakeLinkText(CompoundReader& reader, std::string& target) {
  if (!reader.Next(OP_READLINK)) return false;
  const std::string_view text = reader.body().Bytes(kLinkBytesMax);
  if (!reader.TakeBody(!text.empty() && text.find('\0') == text.npos)) return false;
  target = text;
  return true;
}

bool TakeRead(CompoundReader& reader, std::span<std::byte> into, ReadReply& reply) {
  if (!reader.Next(OP_READ)) return false;
  const bool eof = reader.body().Bool();
  const size_t bytes = reader.body().Data(into);
  // An empty READ before the end of the file would make a reader loop.
  const bool stuck = bytes == 0 && !eof && !into.empty();
  if (!reader.TakeBody(!stuck)) return false;
  reply.count_bytes = bytes;
  reply.eof = eof;
  return true;
}

bool TakeWrite(CompoundReader& reader, size_t sent_bytes, Stability requested,
               UnstableWriteReply& reply) {
  if (!reader.Next(OP_WRITE)) return false;
  const uint32_t count = reader.body().U32();
  const Stability committed{reader.body().U32()};
  const uint64_t verifier = ReadVerifier(reader.body());
  const bool good = count <= sent_bytes && (count > 0 || sent_bytes == 0) &&
                    committed >= requested && committed <= Stability::kFileSync;
  if (!reader.TakeBody(good)) return false;
  reply.count_bytes = count;
  reply.committed = committed;
  reply.verifier = verifier;
  return true;
}

bool TakeCommit(CompoundReader& reader, uint64_t& verifier) {
  if (!reader.Next(OP_COMMIT)) return false;
  const uint64_t sent = ReadVerifier(reader.body());
  if (!reader.TakeBody(true)) return false;
  verifier = sent;
  return true;
}

// Reserves for entries as long as the first one.
bool TakeEntries(CompoundReader& reader, const OwnerNames& owners, ReadDirPosition requested,
                 ReadDirReply& reply) {
  if (!reader.Next(OP_READDIR)) return false;
  rpc::XdrReader& body = reader.body();
  const uint64_t verifier = ReadVerifier(body);
  std::vector<DirectoryEntry> entries;
  const size_t bytes = body.bytes_left();
  while (body.Bool()) {
    if (!ReadEntry(body, owners, reader.owner_wait(), entries.emplace_back()))
      return reader.TakeBody(false);
    if (entries.size() == 1) entries.reserve(bytes / (bytes - body.bytes_left()));
  }
  const bool eof = body.Bool();
  const bool progress = eof || entries.empty() || entries.back().cookie != requested.cookie;
  if (!reader.TakeBody(progress)) return false;
  if (entries.empty() && !eof) {
    reader.Fail(kTooSmall);
    return false;
  }
  reply.verifier = verifier;
  reply.entries = std::move(entries);
  reply.eof = eof;
  return true;
}

bool TakeCreated(CompoundReader& reader, ChangeInfo& directory) {
  return TakeChange(reader, OP_CREATE, directory);
}

bool TakeRemoved(CompoundReader& reader, ChangeInfo& directory) {
  return TakeChange(reader, OP_REMOVE, directory);
}

bool TakeLinked(CompoundReader& reader, ChangeInfo& directory) {
  return TakeChange(reader, OP_LINK, directory);
}

bool TakeRenamed(CompoundReader& reader, ChangeInfo& from_directory, ChangeInfo& to_directory) {
  if (!reader.Next(OP_RENAME)) return false;
  const ChangeInfo from = ReadChange(reader.body());
  const ChangeInfo to = ReadChange(reader.body());
  if (!reader.TakeBody(true)) return false;
  from_directory = from;
  to_directory = to;
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
  if (!reader.Next(OP_SETCLIENTID)) return false;
  const uint64_t client_id = reader.body().U64();
  const uint64_t verifier = ReadVerifier(reader.body());
  if (!reader.TakeBody(true)) return false;
  grant = {client_id, verifier};
  return true;
}

bool TakeExchange(CompoundReader& reader, ExchangeGrant& grant) {
  if (!reader.Next(kOpExchangeId)) return false;
  constexpr uint32_t kConfirmed = 0x80000000;  // EXCHGID4_FLAG_CONFIRMED_R
  constexpr uint32_t kNoStateProtection = 0;
  rpc::XdrReader& body = reader.body();
  ExchangeGrant taken;
  taken.client_id = body.U64();
  taken.sequence = body.U32();
  taken.is_confirmed = (body.U32() & kConfirmed) != 0;
  const bool is_protected = body.U32() != kNoStateProtection;  // it was not asked for
  (void)body.U64();                                            // server owner
  (void)body.Bytes(kOpaqueBytesMax);
  (void)body.Bytes(kOpaqueBytesMax);  // server scope
  const uint32_t implementations = body.U32();
  for (uint32_t i = 0; i < implementations && body.good(); ++i) {
    (void)body.Bytes(kOpaqueBytesMax);  // domain, name, date
    (void)body.Bytes(kOpaqueBytesMax);
    body.Skip(sizeof(uint64_t) + sizeof(uint32_t));
  }
  if (!reader.TakeBody(!is_protected && implementations <= 1)) return false;
  grant = taken;
  return true;
}

bool TakeBound(CompoundReader& reader, const SessionId& session) {
  if (!reader.Next(kOpBindConnToSession)) return false;
  rpc::XdrReader& body = reader.body();
  const bool is_of =
      body.Opaque(session.size()) == std::string_view(session.data(), session.size());
  const uint32_t channels = body.U32();
  body.U32();  // RDMA
  constexpr uint32_t kBack = 2, kBoth = 3;  // channel_dir_from_server4 (RFC 8881 18.34)
  const bool is_back = channels == kBack || channels == kBoth;
  return reader.TakeBody(is_of && is_back);
}

bool TakeSession(CompoundReader& reader, SessionGrant& grant) {
  if (!reader.Next(kOpCreateSession)) return false;
  rpc::XdrReader& body = reader.body();
  SessionGrant taken;
  const std::string_view id = body.Opaque(taken.id.size());
  std::copy(id.begin(), id.end(), taken.id.begin());
  (void)body.U32();  // sequence
  (void)body.U32();  // flags
  taken.fore = ReadChannel(body);
  (void)ReadChannel(body);  // back channel
  if (!reader.TakeBody(true)) return false;
  grant = taken;
  return true;
}

bool TakeOpen(CompoundReader& reader, OpenGrant& grant) {
  if (!reader.Next(OP_OPEN)) return false;
  rpc::XdrReader& body = reader.body();
  OpenGrant taken;
  taken.state = ReadState(body);
  taken.directory = ReadChange(body);
  taken.must_confirm = (body.U32() & OPEN4_RESULT_CONFIRM) != 0;
  taken.attributes_set = ReadFirstBits(body);
  if (!reader.TakeBody(ReadDelegation(body, taken.delegation))) return false;
  grant = taken;
  return true;
}

bool TakeDirectoryDelegation(CompoundReader& reader, std::optional<DelegationGrant>& grant) {
  constexpr uint32_t kGranted = 0, kUnavailable = 1;  // GDD4_OK, GDD4_UNAVAIL (RFC 8881 18.39)
  if (!reader.Next(kOpGetDirDelegation)) return false;
  rpc::XdrReader& body = reader.body();
  const uint32_t answer = body.U32();
  std::optional<DelegationGrant> taken;
  if (answer == kGranted) {
    (void)body.U64();  // the verifier of cookies that notifications have
    taken = {.state = ReadState(body), .of_directory = true};
    for (int bitmaps = 0; bitmaps < 3; ++bitmaps) reader.SkipBitmap();
  } else {
    (void)body.Bool();  // whether the server tells when there is one
  }
  if (!reader.TakeBody(answer <= kUnavailable)) return false;
  grant = taken;
  return true;
}

bool TakeXattr(CompoundReader& reader, std::string& value) {
  if (!reader.Next(kOpGetXattr)) return false;
  const std::string_view bytes = reader.body().Bytes(kXattrValueBytesMax);
  if (!reader.TakeBody(true)) return false;
  value = bytes;
  return true;
}

bool TakeAcl(CompoundReader& reader, std::optional<std::string>& acl) {
  if (!reader.Next(OP_GETATTR)) return false;
  std::optional<std::string_view> taken;
  if (!reader.TakeBody(DecodeAcl(reader.body(), taken))) return false;
  if (taken) acl.emplace(*taken);
  return true;
}

bool TakeXattrChange(CompoundReader& reader, int operation, ChangeInfo& file) {
  return TakeChange(reader, operation, file);
}

bool TakeXattrNames(CompoundReader& reader, XattrList& list) {
  if (!reader.Next(kOpListXattrs)) return false;
  rpc::XdrReader& body = reader.body();
  XattrList taken{.cookie = body.U64()};
  const uint32_t names = body.U32();
  bool are_valid = true;
  for (uint32_t i = 0; i < names && body.good(); ++i) {
    const std::string_view name = body.Bytes(kNameBytesMax);
    are_valid = are_valid && !name.empty() && name.find('\0') == name.npos;
    if (are_valid) taken.names.emplace_back(name);
  }
  taken.eof = body.Bool();
  if (!reader.TakeBody(are_valid)) return false;
  list = std::move(taken);
  return true;
}

bool TakeSeek(CompoundReader& reader, SeekReply& reply) {
  if (!reader.Next(kOpSeek)) return false;
  const bool is_end = reader.body().U32() != 0;
  const uint64_t offset = reader.body().U64();
  if (!reader.TakeBody(true)) return false;
  reply.is_end = is_end;
  reply.offset_bytes = offset;
  return true;
}

bool TakeCopied(CompoundReader& reader, const CopiedRange& range, CopyResult& result) {
  if (!reader.Next(kOpCopy)) return false;
  rpc::XdrReader& body = reader.body();
  const bool is_done = body.U32() == 0;  // no id by which a callback would tell that it is
  CopyResult taken;
  taken.count_bytes = body.U64();
  taken.committed = Stability{body.U32()};
  taken.verifier = ReadVerifier(body);
  (void)body.U32();  // consecutive
  (void)body.U32();  // synchronous
  const bool is_sane =
      taken.count_bytes <= range.size_bytes && taken.committed <= Stability::kFileSync;
  if (!reader.TakeBody(is_done && is_sane)) return false;
  result = taken;
  return true;
}

bool TakeTested(CompoundReader& reader, std::span<int> statuses) {
  if (!reader.Next(kOpTestStateId)) return false;
  const bool is_of_each = reader.body().U32() == statuses.size();
  for (size_t i = 0; is_of_each && i < statuses.size(); ++i) {
    statuses[i] = static_cast<int>(reader.body().U32());
  }
  return reader.TakeBody(is_of_each);
}

bool TakeConfirmed(CompoundReader& reader, StateId& state) {
  return TakeState(reader, OP_OPEN_CONFIRM, state);
}

bool TakeClosed(CompoundReader& reader) {
  StateId ignored;
  return TakeState(reader, OP_CLOSE, ignored);
}

bool TakeLocked(CompoundReader& reader, StateId& state) {
  return TakeState(reader, OP_LOCK, state);
}

bool TakeUnlocked(CompoundReader& reader, StateId& state) {
  return TakeState(reader, OP_LOCKU, state);
}

std::optional<RangeLock> TakeDenied(CompoundReader& reader) {
  if (reader.status() != NFS4ERR_DENIED) return std::nullopt;
  rpc::XdrReader& body = reader.body();
  const uint64_t offset = body.U64();
  const uint64_t length = body.U64();
  const uint32_t type = body.U32();
  (void)body.U64();                   // client id
  (void)body.Bytes(kOpaqueBytesMax);  // owner
  const bool good =
      body.good() && offset <= ByteRange::kEnd && type >= READ_LT && type <= WRITEW_LT;
  if (!good) {
    reader.Fail();
    return std::nullopt;
  }
  // 0: nfs-ganesha's length of a lock to the end of the file (4.3).
  const uint64_t rest = ByteRange::kEnd - offset + 1;
  const uint64_t bytes = length == 0 ? rest : std::min(length, rest);
  return RangeLock{type == READ_LT || type == READW_LT ? LockType::kRead : LockType::kWrite,
                   {offset, offset + bytes - 1}};
}

}  // namespace nfswalk::protocol
