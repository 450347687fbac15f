#include <array>

#include "nfsclient/protocol/nfs3_decode.h"
#include "tests/fuzz/nfsclient/protocol/reply_invariants.h"
#include "tests/fuzz/nfsclient/protocol/reply_sample.h"
#include "tests/unit/nfsclient/protocol/fake_server.h"
#include "tests/unit/nfsclient/protocol/wire_reply.h"

namespace nfswalk::protocol {
namespace {

constexpr uint32_t kFailure = NFS3ERR_ACCES;

// RFC 1813 2.6.
Xdr File(uint32_t type) {
  Xdr xdr = Xdr().U32(type, 0100644, 1, 1000, 100).U64(12, 4096).U32(0, 0).U64(77, 4711);
  return xdr.U32(1, 2, 3, 4, 5, 999'999'999);
}
Xdr PostOp(uint32_t type = NF3REG) { return Xdr().U32(1).Raw(File(type)); }
Xdr PostOpHandle() { return Xdr().U32(1).Bytes(std::string(24, 'h')); }
Xdr Wcc() { return Xdr().U32(1).U64(12).U32(3, 4, 5, 6).Raw(PostOp(NF3DIR)); }

Violation ViolationIn(const AttributesReply& r) {
  return r.error == kOk ? ViolationIn(r.attributes) : "";
}
Violation ViolationIn(const LookupReply& r) {
  return FirstOf({r.error == kOk ? ViolationIn(r.handle, kNfs3HandleBytesMax)
                                 : Violation(r.handle.empty() ? "" : "no handle in a failure"),
                  ViolationIn(r.attributes), ViolationIn(r.directory)});
}
Violation ViolationIn(const AccessReply& r) {
  return FirstOf({ViolationInGranted(r.granted), ViolationIn(r.attributes)});
}
Violation ViolationIn(const ReadLinkReply& r) {
  return FirstOf({r.error == kOk ? ViolationInLinkText(r.target)
                                 : Violation(r.target.empty() ? "" : "no text in a failure"),
                  ViolationIn(r.attributes)});
}
Violation ViolationIn(const ReadReply& r) {
  if (r.count_bytes > kTransferBytes) return "no more than requested";
  if (r.error == kOk && r.count_bytes == 0 && !r.eof) return "progress";
  return ViolationIn(r.attributes);
}
Violation ViolationIn(const WriteReply& r) {
  if (r.count_bytes > kTransferBytes) return "no more than was sent";
  if (r.error == kOk && r.count_bytes == 0) return "progress";
  return ViolationIn(r.file);
}
Violation ViolationIn(const ReadDirReply& r) { return ViolationIn(r, kNfs3HandleBytesMax); }
Violation ViolationIn(const CreateReply& r) {
  return FirstOf({r.handle ? ViolationIn(*r.handle, kNfs3HandleBytesMax) : Violation(),
                  ViolationIn(r.attributes), ViolationIn(r.directory)});
}
Violation ViolationIn(const LinkReply& r) {
  return FirstOf({ViolationIn(r.attributes), ViolationIn(r.directory)});
}
Violation ViolationIn(const RenameReply& r) {
  return FirstOf({ViolationIn(r.from_directory), ViolationIn(r.to_directory)});
}
Violation ViolationIn(const RemoveReply& r) { return ViolationIn(r.directory); }
Violation ViolationIn(const SetAttributesReply& r) { return ViolationIn(r.file); }

// FSINFO sets the sizes, PATHCONF the limit of names.
Violation ViolationIn(const LimitsReply& r) {
  return r.limits.read_bytes_max == 0 ? ViolationInNameLimit(r.limits) : ViolationIn(r.limits);
}

// Adds a success and a failure of `name`.
template <typename Reply, typename Wire, typename Decode>
void Add(std::vector<ReplySample>& samples, const std::string& name, uint32_t (*zdr)(ZDR*, Wire*),
         Decode decode, const Xdr& success, const Xdr& failure) {
  const auto feed = [zdr, decode](std::string_view bytes) {
    const WireReply<Wire> reply(bytes, zdr);
    if (!reply.parsed()) return FeedResult{};
    Reply decoded;
    decode(reply.wire(), decoded);
    return FeedResult{true, decoded.error, ViolationIn(decoded)};
  };
  samples.push_back({name, Xdr().U32(0).Raw(success).str(), kOk, feed});
  samples.push_back({name + " failed", Xdr().U32(kFailure).Raw(failure).str(),
                     std::errc::permission_denied, feed});
}

void AddReadings(std::vector<ReplySample>& samples) {
  Add<AttributesReply>(samples, "GETATTR", zdr_GETATTR3res, kDecode, File(NF3DIR), {});
  Add<LookupReply>(samples, "LOOKUP", zdr_LOOKUP3res, kDecode,
                   Xdr().Bytes(std::string(64, 'h')).Raw(PostOp()).Raw(PostOp(NF3DIR)),
                   PostOp(NF3DIR));
  Add<AccessReply>(samples, "ACCESS", zdr_ACCESS3res, kDecode, Xdr().Raw(PostOp()).U32(0x1f),
                   PostOp());
  Add<ReadLinkReply>(samples, "READLINK", zdr_READLINK3res, kDecode,
                     Xdr().Raw(PostOp(NF3LNK)).Bytes("../a/target"), PostOp(NF3LNK));
  Add<ReadReply>(
      samples, "READ", zdr_READ3res,
      [](const READ3res& wire, ReadReply& reply) {
        std::array<std::byte, kTransferBytes> into;
        DecodeReply(wire, into, reply);
      },
      Xdr().Raw(PostOp()).U32(11, 1).Bytes("eleven byte"), PostOp());
  Add<LimitsReply>(samples, "FSINFO", zdr_FSINFO3res, kDecode,
                   Xdr()
                       .Raw(PostOp(NF3DIR))
                       .U32(1 << 26, 1 << 26, 1, 1 << 26, 1 << 26, 1, 4096)
                       .U64(1ull << 62, 1)
                       .U32(0x1b),
                   PostOp(NF3DIR));
  Add<LimitsReply>(samples, "PATHCONF", zdr_PATHCONF3res, kDecode,
                   Xdr().Raw(PostOp(NF3DIR)).U32(32000, 255, 1, 1, 0, 1), PostOp(NF3DIR));
}

void AddListings(std::vector<ReplySample>& samples) {
  Xdr plain = Xdr().Raw(PostOp(NF3DIR)).U64(9);
  Xdr plus = plain;
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string name(1 + 7 * i, 'n');
    plain.U32(1).U64(100 + i).Bytes(name).U64(6 + i);
    plus.U32(1).U64(100 + i).Bytes(name).U64(6 + i).Raw(PostOp()).Raw(PostOpHandle());
  }
  const auto decode = [](const auto& wire, ReadDirReply& reply) {
    DecodeReply(wire, kRequested, reply);
  };
  Add<ReadDirReply>(samples, "READDIR", zdr_READDIR3res, decode, plain.U32(0, 0), PostOp(NF3DIR));
  Add<ReadDirReply>(samples, "READDIRPLUS", zdr_READDIRPLUS3res, decode, plus.U32(0, 1),
                    PostOp(NF3DIR));
}

void AddChanges(std::vector<ReplySample>& samples) {
  const Xdr created = Xdr().Raw(PostOpHandle()).Raw(PostOp()).Raw(Wcc());
  Add<CreateReply>(samples, "CREATE", zdr_CREATE3res, kDecode, created, Wcc());
  Add<CreateReply>(samples, "MKDIR", zdr_MKDIR3res, kDecode, created, Wcc());
  Add<CreateReply>(samples, "SYMLINK", zdr_SYMLINK3res, kDecode, created, Wcc());
  Add<RemoveReply>(samples, "REMOVE", zdr_REMOVE3res, kDecode, Wcc(), Wcc());
  Add<RemoveReply>(samples, "RMDIR", zdr_RMDIR3res, kDecode, Wcc(), Wcc());
  Add<RenameReply>(samples, "RENAME", zdr_RENAME3res, kDecode, Xdr().Raw(Wcc()).Raw(Wcc()),
                   Xdr().Raw(Wcc()).Raw(Wcc()));
  Add<LinkReply>(samples, "LINK", zdr_LINK3res, kDecode, Xdr().Raw(PostOp()).Raw(Wcc()),
                 Xdr().Raw(PostOp()).Raw(Wcc()));
  Add<SetAttributesReply>(samples, "SETATTR", zdr_SETATTR3res, kDecode, Wcc(), Wcc());
  Add<WriteReply>(
      samples, "WRITE", zdr_WRITE3res,
      [](const WRITE3res& wire, WriteReply& reply) { DecodeReply(wire, kTransferBytes, reply); },
      Xdr().Raw(Wcc()).U32(100, 2).U64(1), Wcc());
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
