// SEEK, ALLOCATE and DEALLOCATE, of version 4.2 (RFC 7862 15.1, 15.4, 15.11).
#include <atomic>
#include <cstdint>

#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/nfs4/open_file_operation.h"
#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/rpc/operation.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

namespace nfswalk::protocol {

namespace {

class SeekCall {
 public:
  SeekCall(const OpenedFile& open, uint64_t offset_bytes, Content content,
           std::atomic<bool>* is_missing)
      : content_(content), is_missing_(*is_missing) {
    compound_.PutHandle(open.file).Seek(open.state, offset_bytes, content);
    request_ = compound_.Encode();
  }
  const rpc::Request& request() const { return request_; }
  void Decode(CompoundReader& reader, SeekReply& reply) const {
    if (!reader.Next(OP_PUTFH) || !TakeSeek(reader, reply)) reply.error = reader.error();
    if (reader.status() == NFS4ERR_OP_ILLEGAL) is_missing_.store(true);
    // A file that is open to write only may not be read, which lseek(2) does not ask for.
    constexpr int kUnionNotSupported = 10090;  // NFS4ERR_UNION_NOTSUPP (RFC 7862 11.1)
    if (reader.status() == NFS4ERR_OPENMODE || reader.status() == kUnionNotSupported) {
      reply.error = std::errc::operation_not_supported;
    }
    // There is none behind it.
    if (reply.error == kOk && reply.is_end && content_ == Content::kData) {
      reply.error = std::errc::no_such_device_or_address;
    }
  }

 private:
  const Content content_;
  std::atomic<bool>& is_missing_;
  Compound compound_;
  rpc::Request request_;
};

class AllocatePiece {
 public:
  AllocatePiece(const OpenedFile& open, Allocation allocation, std::atomic<bool>* is_missing)
      : operation_(allocation.is_hole ? kOpDeallocate : kOpAllocate),
        owner_names_(open.owners),
        is_missing_(*is_missing) {
    compound_.PutHandle(open.file).GetAttributes();
    compound_.Allocate(open.state, allocation).GetAttributes();
    request_ = compound_.Encode();
  }
  const rpc::Request& request() const { return request_; }
  void Decode(CompoundReader& reader, FileChangeReply& reply) const {
    Attributes before;
    if (reader.Next(OP_PUTFH) && TakeAttributes(reader, owner_names_, before) &&
        reader.Next(operation_)) {
      reply.file.before = PreOpAttributes{.change = before.change};
      reply.file.after = TakeOptionalAttributes(reader, owner_names_);
      return;
    }
    reply.error = reader.error();
    if (reader.status() == NFS4ERR_OP_ILLEGAL) is_missing_.store(true);
  }

 private:
  const int operation_;
  const OwnerNames& owner_names_;
  std::atomic<bool>& is_missing_;
  Compound compound_;
  rpc::Request request_;
};

using SeekOperation = OpenFileOperation<SeekCall, uint64_t, Content, std::atomic<bool>*>;
using AllocateOperation = OpenFileOperation<AllocatePiece, Allocation, std::atomic<bool>*>;

}  // namespace

SeekReply Nfs4::Seek(const FileHandle& file, uint64_t offset_bytes, Content content,
                     const OpenState* state, const Credential& credential) {
  if (!has_operations_of_4_2() || seek_is_missing_.load()) {
    return Failure<SeekReply>(std::errc::operation_not_supported);
  }
  SeekOperation operation(*open_files_, owner_names_, state, file, offset_bytes, content,
                          &seek_is_missing_);
  return rpc::CallOperation<SeekReply>(*caller_, credential, operation);
}

FileChangeInFlight Nfs4::StartAllocate(const FileHandle& file, const Allocation& allocation,
                                       const OpenState* state, const Credential& credential) {
  if (!can_allocate()) {
    return Protocol::StartAllocate(file, allocation, state, credential);
  }
  return rpc::StartOperation<AllocateOperation, FileChangeReply>(*caller_, credential, *open_files_,
                                                                 owner_names_, state, file,
                                                                 allocation, &allocate_is_missing_);
}

}  // namespace nfswalk::protocol
