// READ, WRITE and COMMIT.
#include <algorithm>

#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/internal_errors.h"
#include "nfsclient/rpc/transfer.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

namespace nfswalk::protocol {

namespace {

// A reply and the nfsstat4 of its error.
template <typename Reply>
struct WithStatus : Reply {
  int status = 0;
};

// What the pieces of a transfer share. The state is as of its beginning: recovery is for the calls
// that follow a piece that it failed.
struct TransferFile {
  const FileHandle& file;
  const StateId state;
  const OwnerNames& owners;
};

class ReadPiece {
 public:
  using Context = TransferFile;

  ReadPiece(const TransferFile& open, uint64_t offset_bytes, std::span<std::byte> into)
      : owners_(open.owners), into_(into) {
    compound_.PutHandle(open.file).Read(open.state, offset_bytes, into).GetAttributes();
    request_ = compound_.Encode();
  }
  const rpc::Request& request() const { return request_; }
  void Decode(rpc::XdrReader& in, ReadReply& reply) const {
    CompoundReader reader(in);
    Decode(reader, reply);
  }
  void Decode(CompoundReader& reader, ReadReply& reply) const {
    if (reader.Next(OP_PUTFH) && TakeRead(reader, into_, reply)) {
      reply.attributes = TakeOptionalAttributes(reader, owners_);
    }
    reply.error = reader.error();
    if (reply.error != kOk) reply.count_bytes = 0;
  }

 private:
  const OwnerNames& owners_;
  const std::span<std::byte> into_;
  Compound compound_;
  rpc::Request request_;
};

class WritePiece {
 public:
  using Context = TransferFile;

  WritePiece(const TransferFile& open, uint64_t offset_bytes, std::span<const std::byte> data,
             Stability stability)
      : owners_(open.owners), bytes_(data.size()), stability_(stability) {
    compound_.PutHandle(open.file).GetAttributes();
    compound_.Write(open.state, offset_bytes, data, stability).GetAttributes();
    request_ = compound_.Encode();
  }
  const rpc::Request& request() const { return request_; }
  void Decode(rpc::XdrReader& in, WrittenReply& reply) const {
    CompoundReader reader(in);
    Decode(reader, reply);
  }
  void Decode(CompoundReader& reader, WrittenReply& reply) const {
    Attributes before;
    if (reader.Next(OP_PUTFH) && TakeAttributes(reader, owners_, before) &&
        TakeWrite(reader, bytes_, stability_, reply)) {
      reply.file.before = PreOpAttributes{.change = before.change};
      reply.file.after = TakeOptionalAttributes(reader, owners_);
    } else {
      reply.error = reader.error();
    }
  }

 private:
  const OwnerNames& owners_;
  const size_t bytes_;
  const Stability stability_;
  Compound compound_;
  rpc::Request request_;
};

class CommitPiece {
 public:
  CommitPiece(const FileHandle& file, const OwnerNames& owners) : owners_(owners) {
    compound_.PutHandle(file).Commit().GetAttributes();
    request_ = compound_.Encode();
  }
  const rpc::Request& request() const { return request_; }
  void Decode(rpc::XdrReader& in, CommitReply& reply) const {
    CompoundReader reader(in);
    if (reader.Next(OP_PUTFH) && TakeCommit(reader, reply.verifier)) {
      reply.file.after = TakeOptionalAttributes(reader, owners_);
    } else {
      reply.error = reader.error();
    }
  }

 private:
  const OwnerNames& owners_;
  Compound compound_;
  rpc::Request request_;
};

}  // namespace

// Sends a piece by itself, again after the state that it needs was recovered.
template <typename Reply, typename Piece, typename Part>
Reply Nfs4::Transfer(const FileHandle& file, uint64_t offset_bytes, Part part,
                     const OpenState* state, const Credential& credential, auto... settings) {
  part = part.first(std::min<size_t>(part.size(), kTransferBytesMax));
  Budget budget = caller_->NewBudget();
  for (;;) {
    if (OpenFiles::HasLostLocks(state)) return Failure<Reply>(std::errc::io_error);
    const StateId used = OpenFiles::StateOf(state);
    const Piece piece(TransferFile{file, used, owners_}, offset_bytes, part, settings...);
    auto reply = caller_->Call<WithStatus<Reply>>(
        credential, budget, piece.request(), [&](rpc::XdrReader& in, WithStatus<Reply>& decoded) {
          CompoundReader reader(in);
          piece.Decode(reader, decoded);
          decoded.status = reader.status();
        });
    if (reply.error == kOk || state == nullptr || reply.status == 0) return reply;
    const std::errc error = open_files_->Recover(state, used, reply.status, budget);
    if (error != kOk) return Failure<Reply>(error);
  }
}

ReadReply Nfs4::Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                     const OpenState* state, const Credential& credential) {
  return Transfer<ReadReply, ReadPiece>(file, offset_bytes, into, state, credential);
}

ReadReply Nfs4::ReadPieces(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                           size_t piece_bytes, const OpenState* state,
                           const Credential& credential) {
  const auto read_one = [&](uint64_t at_bytes, std::span<std::byte> part) {
    return Read(file, at_bytes, part, state, credential);
  };
  if (into.size() <= piece_bytes || OpenFiles::HasLostLocks(state)) {
    return read_one(offset_bytes, into);
  }
  const TransferFile open{file, OpenFiles::StateOf(state), owners_};
  return rpc::ReadPieces<ReadPiece>(*caller_, credential, open, offset_bytes, into, piece_bytes,
                                    read_one);
}

WriteReply Nfs4::Write(const FileHandle& file, uint64_t offset_bytes,
                       std::span<const std::byte> data, const OpenState* state,
                       const Credential& credential) {
  return Transfer<WrittenReply, WritePiece>(file, offset_bytes, data, state, credential,
                                            Stability::kFileSync);
}

ReadUnderWay Nfs4::StartRead(const FileHandle& file, uint64_t offset_bytes,
                             std::span<std::byte> into, const OpenState* state,
                             const Credential& credential) {
  const auto again = [this, file, offset_bytes, into, state, &credential] {
    return Read(file, offset_bytes, into, state, credential);
  };
  if (OpenFiles::HasLostLocks(state)) return std::make_unique<Ended<ReadReply>>(again());
  const TransferFile open{file, OpenFiles::StateOf(state), owners_};
  return rpc::StartPiece<ReadPiece, ReadReply>(*caller_, credential, again, open, offset_bytes,
                                               into);
}

WriteUnderWay Nfs4::StartWrite(const FileHandle& file, uint64_t offset_bytes,
                               std::span<const std::byte> data, Stability stability,
                               const OpenState* state, const Credential& credential) {
  const auto again = [this, file, offset_bytes, data, stability, state, &credential]() {
    return WrittenReply(
        Transfer<WrittenReply, WritePiece>(file, offset_bytes, data, state, credential, stability));
  };
  if (OpenFiles::HasLostLocks(state)) return std::make_unique<Ended<WrittenReply>>(again());
  const TransferFile open{file, OpenFiles::StateOf(state), owners_};
  return rpc::StartPiece<WritePiece, WrittenReply>(*caller_, credential, again, open, offset_bytes,
                                                   data, stability);
}

CommitReply Nfs4::Commit(const FileHandle& file, const Credential& credential) {
  const CommitPiece all(file, owners_);
  return caller_->Call<CommitReply>(
      credential, all.request(),
      [&](rpc::XdrReader& in, CommitReply& reply) { all.Decode(in, reply); });
}

CommitUnderWay Nfs4::StartCommit(const FileHandle& file, const Credential& credential) {
  const auto again = [this, file, &credential] { return Commit(file, credential); };
  return rpc::StartPiece<CommitPiece, CommitReply>(*caller_, credential, again, file, owners_);
}

}  // namespace nfswalk::protocol
