// READ, WRITE and COMMIT.
#include <algorithm>

#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/nfs4/open_file_operation.h"
#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/internal_errors.h"
#include "nfsclient/rpc/operation.h"
#include "nfsclient/rpc/read_pieces.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

namespace nfswalk::protocol {

namespace {

class ReadPiece {
 public:
  using Context = OpenedFile;

  ReadPiece(const OpenedFile& open, uint64_t offset_bytes, std::span<std::byte> into)
      : owner_names_(open.owners), into_(into) {
    compound_.PutHandle(open.file).Read(open.state, offset_bytes, into).GetAttributes();
    request_ = compound_.Encode();
  }
  const rpc::Request& request() const { return request_; }
  void Decode(rpc::XdrReader& in, ReadReply& reply) const {
    CompoundReader reader(in);
    Decode(reader, reply);
  }
  void Decode(CompoundReader& reader, ReadReply& reply) const {
    const bool is_read = reader.Next(OP_PUTFH) && TakeRead(reader, into_, reply);
    // Without them the data is as good: Linux 6.1 damages attributes behind data of some sizes.
    if (is_read) reply.attributes = TakeOptionalAttributes(reader, owner_names_);
    if (!is_read) reply.error = reader.error();
    if (!is_read) reply.count_bytes = 0;
  }

 private:
  const OwnerNames& owner_names_;
  const std::span<std::byte> into_;
  Compound compound_;
  rpc::Request request_;
};

class WritePiece {
 public:
  WritePiece(const OpenedFile& open, uint64_t offset_bytes, std::span<const std::byte> data,
             Stability stability)
      : owner_names_(open.owners), bytes_(data.size()), stability_(stability) {
    compound_.PutHandle(open.file).GetAttributes();
    compound_.Write(open.state, offset_bytes, data, stability).GetAttributes();
    request_ = compound_.Encode();
  }
  const rpc::Request& request() const { return request_; }
  void Decode(rpc::XdrReader& in, UnstableWriteReply& reply) const {
    CompoundReader reader(in);
    Decode(reader, reply);
  }
  void Decode(CompoundReader& reader, UnstableWriteReply& reply) const {
    Attributes before;
    if (reader.Next(OP_PUTFH) && TakeAttributes(reader, owner_names_, before) &&
        TakeWrite(reader, bytes_, stability_, reply)) {
      reply.file.before = PreOpAttributes{.change = before.change};
      reply.file.after = TakeOptionalAttributes(reader, owner_names_);
    } else {
      reply.error = reader.error();
    }
  }

 private:
  const OwnerNames& owner_names_;
  const size_t bytes_;
  const Stability stability_;
  Compound compound_;
  rpc::Request request_;
};

class CommitCall {
 public:
  CommitCall(const FileHandle& file, const OwnerNames& owners) : owner_names_(owners) {
    compound_.PutHandle(file).Commit().GetAttributes();
    request_ = compound_.Encode();
  }
  const rpc::Request& request() const { return request_; }
  void Decode(rpc::XdrReader& in, CommitReply& reply) const {
    CompoundReader reader(in);
    if (reader.Next(OP_PUTFH) && TakeCommit(reader, reply.verifier)) {
      reply.file.after = TakeOptionalAttributes(reader, owner_names_);
    } else {
      reply.error = reader.error();
    }
  }

 private:
  const OwnerNames& owner_names_;
  Compound compound_;
  rpc::Request request_;
};

using ReadOperation = OpenFileOperation<ReadPiece, uint64_t, std::span<std::byte>>;
using WriteOperation =
    OpenFileOperation<WritePiece, uint64_t, std::span<const std::byte>, Stability>;

// No more than a call may transfer.
template <typename Byte>
std::span<Byte> InOneCall(std::span<Byte> data) {
  return data.first(std::min<size_t>(data.size(), kTransferBytesMax));
}

}  // namespace

ReadReply Nfs4::Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                     const OpenState* state, const Credential& credential) {
  ReadOperation operation(*open_files_, owner_names_, state, file, offset_bytes, InOneCall(into));
  return rpc::CallOperation<ReadReply>(*caller_, credential, operation);
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
  const OpenedFile open{file, OpenFiles::StateOf(state), owner_names_};
  return rpc::ReadPieces<ReadPiece>(*caller_, credential, open, offset_bytes, into, piece_bytes,
                                    read_one);
}

WriteReply Nfs4::Write(const FileHandle& file, uint64_t offset_bytes,
                       std::span<const std::byte> data, const OpenState* state,
                       const Credential& credential) {
  WriteOperation operation(*open_files_, owner_names_, state, file, offset_bytes, InOneCall(data),
                           Stability::kFileSync);
  return rpc::CallOperation<UnstableWriteReply>(*caller_, credential, operation);
}

ReadInFlight Nfs4::StartRead(const FileHandle& file, uint64_t offset_bytes,
                             std::span<std::byte> into, const OpenState* state,
                             const Credential& credential) {
  return rpc::StartOperation<ReadOperation, ReadReply>(
      *caller_, credential, *open_files_, owner_names_, state, file, offset_bytes, InOneCall(into));
}

WriteInFlight Nfs4::StartWrite(const FileHandle& file, uint64_t offset_bytes,
                               std::span<const std::byte> data, Stability stability,
                               const OpenState* state, const Credential& credential) {
  return rpc::StartOperation<WriteOperation, UnstableWriteReply>(
      *caller_, credential, *open_files_, owner_names_, state, file, offset_bytes, InOneCall(data),
      stability);
}

CommitReply Nfs4::Commit(const FileHandle& file, const Credential& credential) {
  const CommitCall all(file, owner_names_);
  return caller_->Call<CommitReply>(
      credential, all.request(),
      [&](rpc::XdrReader& in, CommitReply& reply) { all.Decode(in, reply); });
}

CommitInFlight Nfs4::StartCommit(const FileHandle& file, const Credential& credential) {
  return rpc::StartOperation<rpc::PieceOperation<CommitCall>, CommitReply>(*caller_, credential,
                                                                           file, owner_names_);
}

}  // namespace nfswalk::protocol
