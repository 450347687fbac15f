#include <array>
#include <cstddef>
#include <span>

#include "nfsclient/nfs3/decode.h"
#include "tests/fixtures/nfs3_results.h"
#include "tests/fuzz/wire/reply_invariants.h"
#include "tests/fuzz/wire/reply_sample.h"

namespace nfswalk::protocol {
namespace {

constexpr uint32_t kFailure = NFS3ERR_ACCES;

Violation ViolationIn(const ExportReply& r) {
  if (r.error == kOk) return ViolationIn(r.root, kNfs3HandleBytesMax);
  return r.root.empty() && !r.flavor_ok ? "" : "no handle in a failure";
}

Violation ViolationIn(const protocol::CommitReply& r) { return ViolationIn(r.file); }
// FSINFO sets the sizes, PATHCONF the limit of names.
Violation ViolationIn(const LimitsReply& r) {
  return r.limits.read_bytes_max == 0 ? ViolationInNameLimit(r.limits) : ViolationIn(r.limits);
}

template <typename Reply>
Violation ViolationOf(const Reply& reply) {
  if constexpr (requires { ViolationIn(reply, kRequested, kNfs3HandleBytesMax); }) {
    return ViolationIn(reply, kRequested, kNfs3HandleBytesMax);
  } else if constexpr (requires { reply.count_bytes; }) {
    return ViolationIn(reply, kTransferBytes);
  } else if constexpr (requires { ViolationIn(reply, kNfs3HandleBytesMax); }) {
    return ViolationIn(reply, kNfs3HandleBytesMax);
  } else {
    return ViolationIn(reply);
  }
}

// Adds a success and a failure of `name`. Decodes from an allocation of the exact size, in which a
// sanitizer detects reads beyond the end.
template <typename Reply, typename Decode>
void Add(std::vector<ReplySample>& samples, const std::string& name, Decode decode,
         const Xdr& success, const Xdr& failure) {
  const auto feed = [decode](std::string_view bytes) {
    const auto view = std::as_bytes(std::span(bytes));
    const std::vector<std::byte> exact(view.begin(), view.end());
    rpc::XdrReader in(exact);
    Reply decoded;
    decode(in, decoded);
    return FeedResult{in.good(), decoded.error, ViolationOf(decoded)};
  };
  samples.push_back({name, Xdr().U32(0).Raw(success).str(), kOk, feed});
  samples.push_back({name + " failed", Xdr().U32(kFailure).Raw(failure).str(),
                     std::errc::permission_denied, feed});
}

void AddReadings(std::vector<ReplySample>& samples) {
  Add<AttributesReply>(samples, "GETATTR", kDecode, WireAttributes{.type = NF3DIR}.xdr(), {});
  Add<LookupReply>(samples, "LOOKUP", kDecode,
                   Xdr().Bytes(std::string(64, 'h')).Raw(PostOp()).Raw(PostOp(NF3DIR)),
                   PostOp(NF3DIR));
  Add<AccessReply>(samples, "ACCESS", kDecode, Xdr().Raw(PostOp()).U32(0x1f), PostOp());
  Add<ReadLinkReply>(samples, "READLINK", kDecode, Xdr().Raw(PostOp(NF3LNK)).Bytes("../a/target"),
                     PostOp(NF3LNK));
  Add<ReadReply>(
      samples, "READ",
      [](rpc::XdrReader& in, ReadReply& reply) {
        std::array<std::byte, kTransferBytes> into;
        DecodeReply(in, into, reply);
      },
      Xdr().Raw(PostOp()).U32(11, 1).Bytes("eleven byte"), PostOp());
  Add<LimitsReply>(samples, "FSINFO", DecodeFsInfo,
                   Xdr()
                       .Raw(PostOp(NF3DIR))
                       .U32(1 << 26, 1 << 26, 1, 1 << 26, 1 << 26, 1, 4096)
                       .U64(1ull << 62, 1)
                       .U32(0x1b),
                   PostOp(NF3DIR));
  Add<LimitsReply>(samples, "PATHCONF", DecodePathConf,
                   Xdr().Raw(PostOp(NF3DIR)).U32(32000, 255, 1, 1, 0, 1), PostOp(NF3DIR));
  Add<ExportReply>(samples, "MNT", kDecode, Xdr().Bytes(std::string(24, 'h')).U32(2, 6, 1), {});
}

void AddListings(std::vector<ReplySample>& samples) {
  Xdr plain = Xdr().Raw(PostOp(NF3DIR)).U64(9);
  Xdr plus = plain;
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string name(1 + 7 * i, 'n');
    plain.U32(1).U64(100 + i).Bytes(name).U64(6 + i);
    plus.U32(1).U64(100 + i).Bytes(name).U64(6 + i).Raw(PostOp()).Raw(PostOpHandle());
  }
  const auto decode = [](bool wants_plus) {
    return [wants_plus](rpc::XdrReader& in, ReadDirReply& reply) {
      DecodeReply(in, wants_plus, kRequested, reply);
    };
  };
  Add<ReadDirReply>(samples, "READDIR", decode(false), plain.U32(0, 0), PostOp(NF3DIR));
  Add<ReadDirReply>(samples, "READDIRPLUS", decode(true), plus.U32(0, 1), PostOp(NF3DIR));
}

void AddChanges(std::vector<ReplySample>& samples) {
  Add<CreateReply>(samples, "CREATE, MKDIR, SYMLINK", kDecode,
                   Xdr().Raw(PostOpHandle()).Raw(PostOp()).Raw(Wcc()), Wcc());
  Add<RemoveReply>(samples, "REMOVE, RMDIR", kDecode, Wcc(), Wcc());
  Add<RenameReply>(samples, "RENAME", kDecode, Xdr().Raw(Wcc()).Raw(Wcc()),
                   Xdr().Raw(Wcc()).Raw(Wcc()));
  Add<LinkReply>(samples, "LINK", kDecode, Xdr().Raw(PostOp()).Raw(Wcc()),
                 Xdr().Raw(PostOp()).Raw(Wcc()));
  Add<FileChangeReply>(samples, "SETATTR", kDecode, Wcc(), Wcc());
  Add<protocol::UnstableWriteReply>(
      samples, "WRITE",
      [](rpc::XdrReader& in, protocol::UnstableWriteReply& reply) {
        DecodeReply(in, kTransferBytes, protocol::Stability::kUnstable, reply);
      },
      Xdr().Raw(Wcc()).U32(100, 2).U64(1), Wcc());
  Add<protocol::CommitReply>(samples, "COMMIT", kDecode, Xdr().Raw(Wcc()).U64(1), Wcc());
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
