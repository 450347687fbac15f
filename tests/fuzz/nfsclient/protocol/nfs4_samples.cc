#include <array>

#include "nfsclient/protocol/nfs4_decode.h"
#include "tests/fixtures/fake_server.h"
#include "tests/fuzz/nfsclient/protocol/reply_invariants.h"
#include "tests/fuzz/nfsclient/protocol/reply_sample.h"
#include "tests/unit/nfsclient/protocol/wire_reply.h"

// libnfs.h, which wire_reply.h includes, defines what the raw headers need.
#include <nfsc/libnfs-raw-nfs4.h>

namespace nfswalk::protocol {
namespace {

using fixtures::Xdr;

constexpr size_t kTransferBytes = 100;
constexpr ReadDirPosition kRequested{5, 0};

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

std::string AfterMode() {
  return Xdr()
      .U32(0755)
      .U32(2)
      .Bytes("1000")
      .Bytes("root@example.org")
      .U32(8)
      .U32(1)
      .U64(4096)
      .U64(1)
      .U32(2)
      .U64(3)
      .U32(4)
      .U64(5)
      .U32(999'999'999)
      .str();
}
std::string File() {
  const Xdr values = Xdr().U32(2).U64(17).U64(4096).U64(3).U64(4).U64(99).Raw(AfterMode());
  return Xdr().U32(2).U32(kWord0).U32(kWord1).Bytes(values.str()).str();
}
std::string Entry() {
  const Xdr values = Xdr()
                         .U32(1)
                         .U64(17)
                         .U64(12)
                         .U64(1ull << 40)
                         .U64(4)
                         .U32(0)
                         .Bytes(std::string(23, 'h'))
                         .U64(99)
                         .Raw(AfterMode())
                         .U64(98);
  return Xdr().U32(2).U32(kWord0 | kEntryWord0).U32(kWord1 | kEntryWord1).Bytes(values.str()).str();
}
// An entry with RDATTR_ERROR.
std::string SecretEntry() {
  return Xdr().U32(1).U32(1u << 11).Bytes(Xdr().U32(NFS4ERR_ACCESS).str()).str();
}
std::string Change() { return Xdr().U32(1).U64(17).U64(18).str(); }
std::string State() { return Xdr().U32(7).Raw("twelve bytes").str(); }

// Builds the results of a COMPOUND.
class Results {
 public:
  Results& Add(int operation, const std::string& result = "") { return Add(operation, 0, result); }
  Results& Fail(int operation, int status) {
    status_ = status;
    return Add(operation, status, "");
  }
  std::string str() const {
    return Xdr().U32(status_).Bytes("tag").U32(count_).Raw(results_.str()).str();
  }

 private:
  Results& Add(int operation, int status, const std::string& result) {
    results_.U32(operation).U32(status).Raw(result);
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
            const WireReply<COMPOUND4res> reply(bytes, zdr_COMPOUND4res);
            if (!reply.parsed()) return FeedResult{};
            CompoundReader reader(reply.wire());
            const Violation violation = take(reader);
            return FeedResult{true, reader.error(), violation};
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

// LOOKUP, GETFH, GETATTR, ACCESS of a name.
Violation TakeStep(CompoundReader& reader) {
  FileHandle handle;
  uint32_t granted = 0;
  if (reader.Next(OP_LOOKUP) == nullptr || !TakeHandle(reader, handle)) {
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
        .Add(OP_GETFH, Xdr().Bytes(std::string(128, 'h')).str())
        .Add(OP_GETATTR, File())
        .Add(OP_ACCESS, Xdr().U32(0x3f).U32(0x1f).str());
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

Xdr Listing() {
  Xdr xdr = Xdr().U64(9);
  for (uint32_t i = 0; i < 4; ++i) {
    xdr.U32(1).U64(6 + i).Bytes(std::string(1 + 7 * i, 'n')).Raw(i == 2 ? SecretEntry() : Entry());
  }
  return xdr;
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
  size_t count = 0;
  const bool taken = TakeWrite(reader, kTransferBytes, count);
  if (count > kTransferBytes) return "no more than was sent";
  if (taken && count == 0) return "progress";
  return FirstOf({ViolationInTaking(taken, reader), taken ? TakeFile(reader) : Violation()});
}

Violation TakeText(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  std::string target;
  const bool taken = TakeLinkText(reader, target);
  return FirstOf(
      {ViolationInTaking(taken, reader), taken ? ViolationInLinkText(target) : Violation()});
}

bool IsTransfer(uint32_t bytes) { return bytes >= 1024 && bytes <= kTransferBytesMax; }

Violation TakeServer(CompoundReader& reader) {
  reader.Next(OP_PUTROOTFH);
  ServerAttributes decoded;
  if (!TakeLimits(reader, decoded)) return ViolationInTaking(false, reader);
  const ServerLimits& limits = decoded.limits;
  if (decoded.lease_seconds == 0) return "a lease";
  if (limits.name_bytes_max < 1 || limits.name_bytes_max > kNameBytesMax) return "the longest name";
  const bool kept = IsTransfer(limits.read_bytes_max) && IsTransfer(limits.write_bytes_max) &&
                    IsTransfer(limits.readdir_bytes_max);
  return kept ? "" : "sizes that a record can carry";
}

Xdr Server() {
  const uint32_t mask = 1u << 10 | 1u << 16 | 1u << 29 | 1u << 30 | 1u << 31;
  const Xdr values = Xdr().U32(90).U32(0).U32(255).U64(1 << 26).U64(1 << 26);
  return Xdr().U32(1).U32(mask).Bytes(values.str());
}

// A change of one directory, whose attributes follow.
template <typename Take>
auto ChangeAnd(Take take_change) {
  return [take_change](CompoundReader& reader) -> Violation {
    reader.Next(OP_PUTFH);
    ChangeInfo change;
    const bool taken = take_change(reader, change);
    return FirstOf({ViolationInTaking(taken, reader), taken ? TakeFile(reader) : Violation()});
  };
}

Violation TakeRenaming(CompoundReader& reader) {
  reader.Next(OP_PUTFH);
  reader.Next(OP_SAVEFH);
  ChangeInfo from, to;
  const bool taken = TakeRenamed(reader, from, to);
  return FirstOf({ViolationInTaking(taken, reader), taken ? TakeFile(reader) : Violation()});
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

void AddReadings(std::vector<ReplySample>& samples) {
  samples.push_back(Sample("path", Path(), kOk, TakePath));
  samples.push_back(
      Sample("path without an end", Path().Fail(OP_LOOKUP, NFS4ERR_NOENT), kOk, TakePath));
  samples.push_back(Sample("name that is not there",
                           Results().Add(OP_PUTFH).Fail(OP_LOOKUP, NFS4ERR_NOENT),
                           std::errc::no_such_file_or_directory, TakePath));
  samples.push_back(Sample("READDIR",
                           Results().Add(OP_PUTFH).Add(OP_READDIR, Listing().U32(0).U32(0).str()),
                           kOk, TakeListing));
  samples.push_back(Sample("READDIR to the end",
                           Results().Add(OP_PUTFH).Add(OP_READDIR, Listing().U32(0).U32(1).str()),
                           kOk, TakeListing));
  samples.push_back(
      Sample("READ", Results().Add(OP_PUTFH).Add(OP_READ, Xdr().U32(1).Bytes("eleven byte").str()),
             kOk, TakeData));
  samples.push_back(
      Sample("READLINK", Results().Add(OP_PUTFH).Add(OP_READLINK, Xdr().Bytes("../a/target").str()),
             kOk, TakeText));
  samples.push_back(Sample("limits", Results().Add(OP_PUTROOTFH).Add(OP_GETATTR, Server().str()),
                           kOk, TakeServer));
}

void AddChanges(std::vector<ReplySample>& samples) {
  samples.push_back(Sample("CREATE",
                           Results()
                               .Add(OP_PUTFH)
                               .Add(OP_CREATE, Change() + Xdr().U32(1).U32(2).str())
                               .Add(OP_GETATTR, File()),
                           kOk, ChangeAnd(TakeCreated)));
  samples.push_back(Sample("REMOVE",
                           Results().Add(OP_PUTFH).Add(OP_REMOVE, Change()).Add(OP_GETATTR, File()),
                           kOk, ChangeAnd(TakeRemoved)));
  samples.push_back(Sample("LINK",
                           Results().Add(OP_PUTFH).Add(OP_LINK, Change()).Add(OP_GETATTR, File()),
                           kOk, ChangeAnd(TakeLinked)));
  samples.push_back(Sample("RENAME",
                           Results()
                               .Add(OP_PUTFH)
                               .Add(OP_SAVEFH)
                               .Add(OP_RENAME, Change() + Change())
                               .Add(OP_GETATTR, File()),
                           kOk, TakeRenaming));
  samples.push_back(Sample("WRITE",
                           Results()
                               .Add(OP_PUTFH)
                               .Add(OP_WRITE, Xdr().U32(100).U32(2).U64(1).str())
                               .Add(OP_GETATTR, File()),
                           kOk, TakeWritten));
}

void AddState(std::vector<ReplySample>& samples) {
  const std::string opened = State() + Change() + Xdr().U32(2).U32(1).U32(0).U32(0).str();
  samples.push_back(Sample("OPEN",
                           Results()
                               .Add(OP_PUTFH)
                               .Add(OP_OPEN, opened)
                               .Add(OP_GETFH, Xdr().Bytes("handle").str())
                               .Add(OP_OPEN_CONFIRM, State())
                               .Add(OP_CLOSE, State()),
                           kOk, TakeOpening));
  // RFC 7530 16.16: with a delegation to write, its limit and its ACE.
  const std::string delegated = State() + Change() +
                                Xdr()
                                    .U32(2)
                                    .U32(0)
                                    .U32(2)
                                    .Raw(State())
                                    .U32(0)
                                    .U32(1)
                                    .U64(1)
                                    .U32(0)
                                    .U32(0)
                                    .U32(1)
                                    .Bytes("who")
                                    .str();
  samples.push_back(
      Sample("OPEN with a delegation",
             Results().Add(OP_PUTFH).Add(OP_OPEN, delegated).Fail(OP_GETFH, NFS4ERR_DELAY),
             std::errc{528}, TakeOpening));
  samples.push_back(Sample("SETCLIENTID",
                           Results().Add(OP_SETCLIENTID, Xdr().U64(17).Raw("verifier").str()), kOk,
                           TakeClient));
}

}  // namespace

std::vector<ReplySample> Nfs4Samples() {
  std::vector<ReplySample> samples;
  AddReadings(samples);
  AddChanges(samples);
  AddState(samples);
  return samples;
}

}  // namespace nfswalk::protocol
