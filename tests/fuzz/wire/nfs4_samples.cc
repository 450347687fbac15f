#include <array>
#include <span>

#include "nfsclient/nfs4/decode.h"
#include "nfsclient/rpc/internal_errors.h"
#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/libnfs_raw.h"
#include "tests/fuzz/wire/reply_invariants.h"
#include "tests/fuzz/wire/reply_sample.h"

namespace nfswalk::protocol {
namespace {

const OwnerNames& Owners() {
  static const OwnerNames owners("example.org");
  return owners;
}

// The attributes of GetAttributes() and of READDIR (RFC 7530 5.6, 5.7).
constexpr uint32_t kWord0 = 1u << 1 | 1u << 3 | 1u << 4 | 1u << 8 | 1u << 20;
constexpr uint32_t kWord1 =
    1u << 1 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 9 | 1u << 13 | 1u << 15 | 1u << 20 | 1u << 21;
constexpr uint32_t kEntryWord0 = 1u << 11 | 1u << 19;
constexpr uint32_t kEntryWord1 = 1u << 23;

Xdr AfterMode() {
  Xdr xdr = Xdr().U32(0755, 2).Bytes("1000").Bytes("root@example.org").U32(8, 1).U64(4096);
  return xdr.U64(1).U32(2).U64(3).U32(4).U64(5).U32(999'999'999);
}
Xdr File() {
  const Xdr values = Xdr().U32(NF4DIR).U64(17, 4096, 3, 4, 99).Raw(AfterMode());
  return Xdr().U32(2, kWord0, kWord1).Bytes(values);
}
Xdr Entry() {
  Xdr values = Xdr().U32(NF4REG).U64(17, 12, 1ull << 40, 4).U32(0).Bytes(std::string(23, 'h'));
  values.U64(99).Raw(AfterMode()).U64(98);
  return Xdr().U32(2, kWord0 | kEntryWord0, kWord1 | kEntryWord1).Bytes(values);
}
// An entry with RDATTR_ERROR.
Xdr SecretEntry() { return Xdr().U32(1, 1u << 11).Bytes(Xdr().U32(NFS4ERR_ACCESS)); }
Xdr Change() { return Xdr().U32(1).U64(17, 18); }
Xdr State() { return Xdr().U32(7).Raw("twelve bytes"); }

// Builds the results of a COMPOUND.
class Results {
 public:
  Results& Add(int operation, const Xdr& result = {}) { return Add(operation, 0, result); }
  Results& Fail(int operation, int status) {
    status_ = status;
    return Add(operation, status, Xdr());
  }
  std::string str() const {
    return Xdr().U32(status_).Bytes("tag").U32(count_).Raw(results_).str();
  }

 private:
  Results& Add(int operation, int status, const Xdr& result) {
    results_.U32(operation, status).Raw(result);
    ++count_;
    return *this;
  }

  int status_ = 0;
  uint32_t count_ = 0;
  Xdr results_;
};

// `take(reader)` returns the violation.
template <typename Take>
ReplySample Sample(std::string name, const Results& results, std::errc error, Take take) {
  return {std::move(name), results.str(), error, [take](std::string_view bytes) {
            const auto view = std::as_bytes(std::span(bytes));
            const std::vector<std::byte> exact(view.begin(), view.end());
            rpc::XdrReader results(exact);
            CompoundReader reader(results);
            const Violation violation = take(reader);
            return FeedResult{results.good(), reader.error(), violation};
          }};
}

// Checks the result of a Take function against its reader.
Violation ViolationInTaking(bool taken, const CompoundReader& reader) {
  return taken == (reader.error() == kOk) ? "" : "an error for what could not be taken";
}

Violation TakeFile(CompoundReader& reader) {
  Attributes attributes;
  const bool taken = TakeAttributes(reader, Owners(), attributes);
  return FirstOf({ViolationInTaking(taken, reader), taken ? ViolationIn(attributes) : Violation()});
}

// Checks a result, and GETATTR behind it.
Violation ThenFile(bool taken, CompoundReader& reader) {
  return FirstOf({ViolationInTaking(taken, reader), taken ? TakeFile(reader) : Violation()});
}

// LOOKUP, GETFH, GETATTR, ACCESS of a name.
Violation TakeStep(CompoundReader& reader) {
  FileHandle handle;
  uint32_t granted = 0;
  if (!reader.Next(OP_LOOKUP) || !TakeHandle(reader, handle)) {
    return handle.empty() ? "" : "no handle in a failure";
  }
  const Violation file = TakeFile(reader);
  TakeAccess(reader, granted);
  return FirstOf({ViolationIn(handle, kNfs4HandleBytesMax), file, ViolationInGranted(granted)});
}

Violation TakePath(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  for (int step = 0; step < 3; ++step) {
    if (const Violation violation = TakeStep(reader); !violation.empty()) return violation;
  }
  return {};
}

Results Path() {
  Results results;
  results.Add(OP_PUTFH);
  for (int step = 0; step < 3; ++step) {
    results.Add(OP_LOOKUP)
        .Add(OP_GETFH, Xdr().Bytes(std::string(128, 'h')))
        .Add(OP_GETATTR, File())
        .Add(OP_ACCESS, Xdr().U32(0x3f, 0x1f));
  }
  return results;
}

Violation TakeListing(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  ReadDirReply reply;
  const bool taken = TakeEntries(reader, Owners(), kRequested, reply);
  reply.error = reader.error();
  for (const DirectoryEntry& entry : reply.entries) {
    if (entry.name == "." || entry.name == "..") return "no dots";
  }
  return FirstOf(
      {ViolationInTaking(taken, reader), ViolationIn(reply, kRequested, kNfs4HandleBytesMax)});
}

Xdr Listing(bool eof) {
  Xdr xdr = Xdr().U64(9);
  for (uint32_t i = 0; i < 4; ++i) {
    xdr.U32(1).U64(6 + i).Bytes(std::string(1 + 7 * i, 'n')).Raw(i == 2 ? SecretEntry() : Entry());
  }
  return xdr.U32(0, eof);
}

Violation TakeData(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  std::array<std::byte, kTransferBytes> into;
  ReadReply reply;
  const bool taken = TakeRead(reader, into, reply);
  if (reply.count_bytes > into.size()) return "no more than requested";
  if (taken && reply.count_bytes == 0 && !reply.eof) return "progress";
  return ViolationInTaking(taken, reader);
}

Violation TakeWritten(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  protocol::UnstableWriteReply reply;
  const bool taken = TakeWrite(reader, kTransferBytes, protocol::Stability::kUnstable, reply);
  if (reply.count_bytes > kTransferBytes) return "no more than was sent";
  if (taken && reply.count_bytes == 0) return "progress";
  return ThenFile(taken, reader);
}

Violation TakeCommitted(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  uint64_t verifier = 0;
  return ThenFile(TakeCommit(reader, verifier), reader);
}

Violation TakeSet(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  return ThenFile(reader.Next(OP_SETATTR), reader);
}

Violation TakeText(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  std::string target;
  const bool taken = TakeLinkText(reader, target);
  return FirstOf(
      {ViolationInTaking(taken, reader), taken ? ViolationInLinkText(target) : Violation()});
}

Violation TakeServer(CompoundReader& reader) {
  reader.Next(OP_PUTROOTFH);
  ServerAttributes decoded;
  if (!TakeLimits(reader, decoded)) return ViolationInTaking(false, reader);
  return decoded.lease_seconds == 0 ? "a lease" : ViolationIn(decoded.limits);
}

Xdr Server() {
  const uint32_t mask = 1u << 10 | 1u << 16 | 1u << 29 | 1u << 30 | 1u << 31;
  const Xdr values = Xdr().U32(90, 0, 255).U64(1 << 26, 1 << 26);
  return Xdr().U32(1, mask).Bytes(values);
}

// A change of one directory, whose attributes follow.
template <typename Take>
auto ChangeAnd(Take take_change) {
  return [take_change](CompoundReader& reader) -> Violation {
    reader.Next(OP_PUTFH);
    ChangeInfo change;
    const bool taken = take_change(reader, change);
    return ThenFile(taken, reader);
  };
}

Violation TakeRenaming(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  reader.Next(OP_SAVEFH);
  ChangeInfo from, to;
  const bool taken = TakeRenamed(reader, from, to);
  return ThenFile(taken, reader);
}

Violation TakeOpening(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  OpenGrant grant;
  StateId state;
  FileHandle handle;
  if (!TakeOpen(reader, grant) || !TakeHandle(reader, handle)) {
    return ViolationInTaking(false, reader);
  }
  const bool taken = TakeConfirmed(reader, state) && TakeClosed(reader);
  return FirstOf({ViolationIn(handle, kNfs4HandleBytesMax), ViolationInTaking(taken, reader)});
}

Violation TakeClient(CompoundReader& reader) {
  ClientIdGrant grant;
  return ViolationInTaking(TakeClientId(reader, grant), reader);
}

Results OnFile() { return Results().Add(OP_PUTFH); }

}  // namespace

std::vector<ReplySample> Nfs4Samples() {
  const Xdr opened = State().Raw(Change()).U32(2, 1, 0, 0);
  // RFC 7530 16.16: with a delegation to write, its limit and its ACE.
  Xdr delegated = State().Raw(Change()).U32(2, 0, 2).Raw(State()).U32(0, 1);
  delegated.U64(1).U32(0, 0, 1).Bytes("who");
  return {
      Sample("path", Path(), kOk, TakePath),
      Sample("path without an end", Path().Fail(OP_LOOKUP, NFS4ERR_NOENT), kOk, TakePath),
      Sample("name that is not there", OnFile().Fail(OP_LOOKUP, NFS4ERR_NOENT),
             std::errc::no_such_file_or_directory, TakePath),
      Sample("READDIR", OnFile().Add(OP_READDIR, Listing(false)), kOk, TakeListing),
      Sample("READDIR to the end", OnFile().Add(OP_READDIR, Listing(true)), kOk, TakeListing),
      Sample("READ", OnFile().Add(OP_READ, Xdr().U32(1).Bytes("eleven byte")), kOk, TakeData),
      Sample("READLINK", OnFile().Add(OP_READLINK, Xdr().Bytes("../a/target")), kOk, TakeText),
      Sample("limits", Results().Add(OP_PUTROOTFH).Add(OP_GETATTR, Server()), kOk, TakeServer),
      Sample("CREATE", OnFile().Add(OP_CREATE, Change().U32(1, 2)).Add(OP_GETATTR, File()), kOk,
             ChangeAnd(TakeCreated)),
      Sample("REMOVE", OnFile().Add(OP_REMOVE, Change()).Add(OP_GETATTR, File()), kOk,
             ChangeAnd(TakeRemoved)),
      Sample("LINK", OnFile().Add(OP_LINK, Change()).Add(OP_GETATTR, File()), kOk,
             ChangeAnd(TakeLinked)),
      Sample("RENAME",
             OnFile().Add(OP_SAVEFH).Add(OP_RENAME, Change().Raw(Change())).Add(OP_GETATTR, File()),
             kOk, TakeRenaming),
      Sample("WRITE", OnFile().Add(OP_WRITE, Xdr().U32(100, 2).U64(1)).Add(OP_GETATTR, File()), kOk,
             TakeWritten),
      Sample("COMMIT", OnFile().Add(OP_COMMIT, Xdr().U64(1)).Add(OP_GETATTR, File()), kOk,
             TakeCommitted),
      Sample("SETATTR", OnFile().Add(OP_SETATTR, Xdr().U32(2, 16, 2)).Add(OP_GETATTR, File()), kOk,
             TakeSet),
      Sample("OPEN",
             OnFile()
                 .Add(OP_OPEN, opened)
                 .Add(OP_GETFH, Xdr().Bytes("handle"))
                 .Add(OP_OPEN_CONFIRM, State())
                 .Add(OP_CLOSE, State()),
             kOk, TakeOpening),
      Sample("OPEN with a delegation",
             OnFile().Add(OP_OPEN, delegated).Fail(OP_GETFH, NFS4ERR_DELAY), kJukebox, TakeOpening),
      Sample("SETCLIENTID", Results().Add(OP_SETCLIENTID, Xdr().U64(17).Raw("verifier")), kOk,
             TakeClient)};
}

}  // namespace nfswalk::protocol
