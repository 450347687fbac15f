#include <array>

#include "nfsclient/protocol/nfs3_decode.h"
#include "tests/fixtures/fake_server.h"
#include "tests/fuzz/nfsclient/protocol/promises.h"
#include "tests/fuzz/nfsclient/protocol/reply_sample.h"
#include "tests/unit/nfsclient/protocol/wire_reply.h"

// libnfs.h, which wire_reply.h includes, defines what the raw headers need.
#include <nfsc/libnfs-raw-nfs.h>

namespace nfswalk::protocol {
namespace {

using fixtures::Xdr;

constexpr uint32_t kFailure = 13;
constexpr size_t kTransferBytes = 100;
constexpr ReadDirPosition kAsked{5, 0};

// RFC 1813 2.6.
std::string File(uint32_t type) {
  return Xdr()
      .U32(type)
      .U32(0100644)
      .U32(1)
      .U32(1000)
      .U32(100)
      .U64(12)
      .U64(4096)
      .U32(0)
      .U32(0)
      .U64(77)
      .U64(4711)
      .U32(1)
      .U32(2)
      .U32(3)
      .U32(4)
      .U32(5)
      .U32(999'999'999)
      .str();
}
std::string PostOp(uint32_t type = 1) { return Xdr().U32(1).Raw(File(type)).str(); }
std::string PostOpHandle() { return Xdr().U32(1).Bytes(std::string(24, 'h')).str(); }
std::string Wcc() { return Xdr().U32(1).U64(12).U32(3).U32(4).U32(5).U32(6).Raw(PostOp(2)).str(); }

Broken BrokenBy(const AttributesReply& r) { return r.error == kOk ? BrokenBy(r.attributes) : ""; }
Broken BrokenBy(const LookupReply& r) {
  return FirstOf({r.error == kOk ? BrokenBy(r.handle, kNfs3HandleBytesMax)
                                 : Broken(r.handle.empty() ? "" : "no handle of what failed"),
                  BrokenBy(r.attributes), BrokenBy(r.directory)});
}
Broken BrokenBy(const AccessReply& r) {
  return FirstOf({BrokenByGranted(r.granted), BrokenBy(r.attributes)});
}
Broken BrokenBy(const ReadLinkReply& r) {
  return FirstOf({r.error == kOk ? BrokenByLinkText(r.target)
                                 : Broken(r.target.empty() ? "" : "no text of what failed"),
                  BrokenBy(r.attributes)});
}
Broken BrokenBy(const ReadReply& r) {
  if (r.count_bytes > kTransferBytes) return "no more than was asked for";
  if (r.error == kOk && r.count_bytes == 0 && !r.eof) return "progress";
  return BrokenBy(r.attributes);
}
Broken BrokenBy(const WriteReply& r) {
  if (r.count_bytes > kTransferBytes) return "no more than was sent";
  if (r.error == kOk && r.count_bytes == 0) return "progress";
  return BrokenBy(r.file);
}
Broken BrokenBy(const ReadDirReply& r) { return BrokenBy(r, kAsked, kNfs3HandleBytesMax); }
Broken BrokenBy(const CreateReply& r) {
  return FirstOf({r.handle ? BrokenBy(*r.handle, kNfs3HandleBytesMax) : Broken(),
                  BrokenBy(r.attributes), BrokenBy(r.directory)});
}
Broken BrokenBy(const LinkReply& r) {
  return FirstOf({BrokenBy(r.attributes), BrokenBy(r.directory)});
}
Broken BrokenBy(const RenameReply& r) {
  return FirstOf({BrokenBy(r.from_directory), BrokenBy(r.to_directory)});
}
Broken BrokenBy(const RemoveReply& r) { return BrokenBy(r.directory); }
Broken BrokenBy(const SetAttributesReply& r) { return BrokenBy(r.file); }

bool IsTransfer(uint32_t bytes) { return bytes >= 1024 && bytes <= kTransferBytesMax; }
// FSINFO fills in the sizes, PATHCONF the name.
Broken BrokenBy(const LimitsReply& r) {
  if (r.limits.name_bytes_max < 1 || r.limits.name_bytes_max > kNameBytesMax) return "name_max";
  if (r.limits.read_bytes_max == 0) return {};
  const bool kept = IsTransfer(r.limits.read_bytes_max) && IsTransfer(r.limits.write_bytes_max) &&
                    IsTransfer(r.limits.readdir_bytes_max);
  return kept ? "" : "sizes that a record can carry";
}

// Adds `name` in success and, unless `failure` is empty, in failure.
template <typename Reply, typename Wire, typename Decode>
void Add(std::vector<ReplySample>& samples, const std::string& name, uint32_t (*zdr)(ZDR*, Wire*),
         Decode decode, const Xdr& success, const std::string& failure) {
  const auto feed = [zdr, decode](std::string_view bytes) {
    const WireReply<Wire> reply(bytes, zdr);
    if (!reply.parsed()) return Fed{};
    Reply decoded;
    decode(reply.wire(), decoded);
    return Fed{true, decoded.error, BrokenBy(decoded)};
  };
  samples.push_back({name, Xdr().U32(0).Raw(success.str()).str(), kOk, feed});
  samples.push_back({name + " failed", Xdr().U32(kFailure).Raw(failure).str(),
                     std::errc::permission_denied, feed});
}

void AddReadings(std::vector<ReplySample>& samples) {
  Add<AttributesReply>(samples, "GETATTR", zdr_GETATTR3res, kDecode, Xdr().Raw(File(2)), "");
  Add<LookupReply>(samples, "LOOKUP", zdr_LOOKUP3res, kDecode,
                   Xdr().Bytes(std::string(64, 'h')).Raw(PostOp()).Raw(PostOp(2)), PostOp(2));
  Add<AccessReply>(samples, "ACCESS", zdr_ACCESS3res, kDecode, Xdr().Raw(PostOp()).U32(0x1f),
                   PostOp());
  Add<ReadLinkReply>(samples, "READLINK", zdr_READLINK3res, kDecode,
                     Xdr().Raw(PostOp(5)).Bytes("../a/target"), PostOp(5));
  Add<ReadReply>(
      samples, "READ", zdr_READ3res,
      [](const READ3res& wire, ReadReply& reply) {
        std::array<std::byte, kTransferBytes> into;
        DecodeReply(wire, into, reply);
      },
      Xdr().Raw(PostOp()).U32(11).U32(1).Bytes("eleven byte"), PostOp());
  Add<LimitsReply>(samples, "FSINFO", zdr_FSINFO3res, kDecode,
                   Xdr()
                       .Raw(PostOp(2))
                       .U32(1 << 26)
                       .U32(1 << 26)
                       .U32(1)
                       .U32(1 << 26)
                       .U32(1 << 26)
                       .U32(1)
                       .U32(4096)
                       .U64(1ull << 62)
                       .U64(1)
                       .U32(0x1b),
                   PostOp(2));
  Add<LimitsReply>(samples, "PATHCONF", zdr_PATHCONF3res, kDecode,
                   Xdr().Raw(PostOp(2)).U32(32000).U32(255).U32(1).U32(1).U32(0).U32(1), PostOp(2));
}

void AddListings(std::vector<ReplySample>& samples) {
  Xdr plain = Xdr().Raw(PostOp(2)).U64(9);
  Xdr plus = plain;
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string name(1 + 7 * i, 'n');
    plain.U32(1).U64(100 + i).Bytes(name).U64(6 + i);
    plus.U32(1).U64(100 + i).Bytes(name).U64(6 + i).Raw(PostOp()).Raw(PostOpHandle());
  }
  const auto decode = [](const auto& wire, ReadDirReply& reply) {
    DecodeReply(wire, kAsked, reply);
  };
  Add<ReadDirReply>(samples, "READDIR", zdr_READDIR3res, decode, plain.U32(0).U32(0), PostOp(2));
  Add<ReadDirReply>(samples, "READDIRPLUS", zdr_READDIRPLUS3res, decode, plus.U32(0).U32(1),
                    PostOp(2));
}

void AddChanges(std::vector<ReplySample>& samples) {
  const Xdr created = Xdr().Raw(PostOpHandle()).Raw(PostOp()).Raw(Wcc());
  Add<CreateReply>(samples, "CREATE", zdr_CREATE3res, kDecode, created, Wcc());
  Add<CreateReply>(samples, "MKDIR", zdr_MKDIR3res, kDecode, created, Wcc());
  Add<CreateReply>(samples, "SYMLINK", zdr_SYMLINK3res, kDecode, created, Wcc());
  Add<RemoveReply>(samples, "REMOVE", zdr_REMOVE3res, kDecode, Xdr().Raw(Wcc()), Wcc());
  Add<RemoveReply>(samples, "RMDIR", zdr_RMDIR3res, kDecode, Xdr().Raw(Wcc()), Wcc());
  Add<RenameReply>(samples, "RENAME", zdr_RENAME3res, kDecode, Xdr().Raw(Wcc()).Raw(Wcc()),
                   Wcc() + Wcc());
  Add<LinkReply>(samples, "LINK", zdr_LINK3res, kDecode, Xdr().Raw(PostOp()).Raw(Wcc()),
                 PostOp() + Wcc());
  Add<SetAttributesReply>(samples, "SETATTR", zdr_SETATTR3res, kDecode, Xdr().Raw(Wcc()), Wcc());
  Add<WriteReply>(
      samples, "WRITE", zdr_WRITE3res,
      [](const WRITE3res& wire, WriteReply& reply) { DecodeReply(wire, kTransferBytes, reply); },
      Xdr().Raw(Wcc()).U32(100).U32(2).U64(1), Wcc());
}

}  // namespace

std::vector<ReplySample> Nfs3Samples() {
  std::vector<ReplySample> samples;
  AddReadings(samples);
  AddListings(samples);
  AddChanges(samples);
  return samples;
}

}  // namespace nfswalk::protocol
