// READ, WRITE and COMMIT.
#include "nfsclient/nfs3/nfs3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <algorithm>

#include "nfsclient/nfs3/decode.h"
#include "nfsclient/nfs3/encode.h"
#include "nfsclient/rpc/operation.h"
#include "nfsclient/rpc/read_pieces.h"

namespace nfswalk::protocol {

using rpc::XdrReader;

namespace {

class ReadPiece {
 public:
  using Context = FileHandle;

  ReadPiece(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into)
      : into_(into),
        arguments_(NFS3_READ, zdr_READ3args,
                   READ3args{ToWire(file), offset_bytes, static_cast<count3>(into.size())},
                   static_cast<uint32_t>(into.size()) + kResultsMarginBytes) {
    arguments_.ReceiveInto(into, FindReadData);
  }
  const rpc::Request& request() const { return arguments_.request(); }
  void Decode(XdrReader& in, ReadReply& reply) const { DecodeReply(in, into_, reply); }

 private:
  const std::span<std::byte> into_;
  Arguments3 arguments_;
};

class WritePiece {
 public:
  WritePiece(const FileHandle& file, uint64_t offset_bytes, std::span<const std::byte> data,
             Stability stability)
      : bytes_(static_cast<uint32_t>(data.size())),
        stability_(stability),
        arguments_(
            NFS3_WRITE, zdr_WRITE3args,
            WRITE3args{
                ToWire(file), offset_bytes, bytes_, static_cast<stable_how>(stability), {}}) {
    arguments_.AppendData(data);
  }
  const rpc::Request& request() const { return arguments_.request(); }
  void Decode(XdrReader& in, UnstableWriteReply& reply) const {
    DecodeReply(in, bytes_, stability_, reply);
  }

 private:
  const uint32_t bytes_;
  const Stability stability_;
  Arguments3 arguments_;
};

class CommitCall {
 public:
  explicit CommitCall(const FileHandle& file)
      : arguments_(NFS3_COMMIT, zdr_COMMIT3args, COMMIT3args{ToWire(file), 0, 0}) {}
  const rpc::Request& request() const { return arguments_.request(); }
  void Decode(XdrReader& in, CommitReply& reply) const { DecodeReply(in, reply); }

 private:
  const Arguments3 arguments_;
};

}  // namespace

ReadReply Nfs3::Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                     const OpenState*, const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) return Failure<ReadReply>(error);
  const ReadPiece piece(file, offset_bytes,
                        into.first(std::min<size_t>(into.size(), kTransferBytesMax)));
  return caller_->Call<ReadReply>(
      credential, piece.request(),
      [&](XdrReader& in, ReadReply& reply) { piece.Decode(in, reply); });
}

ReadReply Nfs3::ReadPieces(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                           size_t piece_bytes, const OpenState* state,
                           const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) return Failure<ReadReply>(error);
  const auto read_one = [&](uint64_t at_bytes, std::span<std::byte> part) {
    return Read(file, at_bytes, part, state, credential);
  };
  if (into.size() <= piece_bytes) return read_one(offset_bytes, into);
  return rpc::ReadPieces<ReadPiece>(*caller_, credential, file, offset_bytes, into, piece_bytes,
                                    read_one);
}

WriteReply Nfs3::Write(const FileHandle& file, uint64_t offset_bytes,
                       std::span<const std::byte> data, const OpenState*,
                       const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) return Failure<WriteReply>(error);
  const WritePiece piece(file, offset_bytes,
                         data.first(std::min<size_t>(data.size(), kTransferBytesMax)),
                         Stability::kFileSync);
  return caller_->Call<UnstableWriteReply>(
      credential, piece.request(),
      [&](XdrReader& in, UnstableWriteReply& reply) { piece.Decode(in, reply); });
}

ReadInFlight Nfs3::StartRead(const FileHandle& file, uint64_t offset_bytes,
                             std::span<std::byte> into, const OpenState*,
                             const Credential& credential) {
  if (CheckHandle(file) != kOk) {
    return std::make_unique<Ended<ReadReply>>(Failure<ReadReply>(kStale));
  }
  return rpc::StartOperation<rpc::PieceOperation<ReadPiece>, ReadReply>(*caller_, credential, file,
                                                                        offset_bytes, into);
}

WriteInFlight Nfs3::StartWrite(const FileHandle& file, uint64_t offset_bytes,
                               std::span<const std::byte> data, Stability stability,
                               const OpenState*, const Credential& credential) {
  if (CheckHandle(file) != kOk) {
    return std::make_unique<Ended<UnstableWriteReply>>(Failure<UnstableWriteReply>(kStale));
  }
  return rpc::StartOperation<rpc::PieceOperation<WritePiece>, UnstableWriteReply>(
      *caller_, credential, file, offset_bytes, data, stability);
}

CommitReply Nfs3::Commit(const FileHandle& file, const Credential& credential) {
  if (const std::errc error = CheckHandle(file); error != kOk) return Failure<CommitReply>(error);
  const CommitCall all(file);
  return caller_->Call<CommitReply>(credential, all.request(), kDecode);
}

CommitInFlight Nfs3::StartCommit(const FileHandle& file, const Credential& credential) {
  if (CheckHandle(file) != kOk) {
    return std::make_unique<Ended<CommitReply>>(Failure<CommitReply>(kStale));
  }
  return rpc::StartOperation<rpc::PieceOperation<CommitCall>, CommitReply>(*caller_, credential,
                                                                           file);
}

}  // namespace nfswalk::protocol
