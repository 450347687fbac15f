// COPY inside a server, of version 4.2 (RFC 7862 15.2): synchronous, with a COMMIT in the same
// COMPOUND. One that the server would make behind its reply is not asked for.
#include <atomic>
#include <cstdint>
#include <optional>
#include <system_error>

#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/nfs4/state/open_files.h"
#include "nfsclient/nfs4/state/state_error.h"
#include "nfsclient/rpc/internal_errors.h"
#include "nfsclient/rpc/operation.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

namespace nfswalk::protocol {
namespace {

// RFC 7862 11.1: the server makes no synchronous copies, or none of this one.
constexpr int kOffloadDenied = 10091;
constexpr int kOffloadNoRequests = 10094;

// Limit of what is sent for a server that loses each copy, or knows no state id for long.
constexpr int kAttemptsMax = 8;

// A file of the copy. `used`: its state id of the last call.
struct End {
  const FileHandle file;
  const OpenState* const state;
  StateId used = {};
};

// A rpc::Operation. io_error once a lock of either open file is lost.
class CopyOperation {
 public:
  CopyOperation(OpenFiles& open_files, const OwnerNames& owners, End source, End target,
                const CopiedRange& range, std::atomic<bool>* is_missing)
      : open_files_(open_files),
        owner_names_(owners),
        source_(source),
        target_(target),
        range_(range),
        is_missing_(*is_missing) {}

  std::errc Encode() {
    status_ = NFS4_OK;
    for (End* end : {&source_, &target_}) {
      if (OpenFiles::HasLostLocks(end->state)) return std::errc::io_error;
      end->used = OpenFiles::StateOf(end->state);
    }
    Compound& compound = compound_.emplace();
    compound.PutHandle(source_.file).SaveHandle().PutHandle(target_.file).GetAttributes();
    compound.Copy(source_.used, target_.used, range_).Commit().GetAttributes();
    request_ = compound.Encode();
    return kOk;
  }
  const rpc::Request& request() const { return *request_; }

  void Decode(rpc::XdrReader& in, FileChangeReply& reply) {
    CompoundReader reader(in);
    Attributes before;
    CopyResult copied;
    uint64_t verifier = 0;
    const bool has_source = reader.Next(OP_PUTFH) && reader.Next(OP_SAVEFH);
    const bool has_target =
        has_source && reader.Next(OP_PUTFH) && TakeAttributes(reader, owner_names_, before);
    const bool is_copied = has_target && TakeCopied(reader, range_, copied);
    if (is_copied && TakeCommit(reader, verifier)) {
      reply.file.before = PreOpAttributes{.change = before.change};
      reply.file.after = TakeOptionalAttributes(reader, owner_names_);
      reply.copied_bytes = copied.count_bytes;
      // The server has restarted in between, or has noticed that it cannot keep what it copied: it
      // is to copy the same once more.
      const bool is_lost = copied.committed != Stability::kFileSync && copied.verifier != verifier;
      if (is_lost) reply.error = ++attempts_ < kAttemptsMax ? kJukebox : std::errc::io_error;
      return;
    }
    reply.error = reader.error();
    status_ = reader.status();
    if (is_copied && reply.error != kJukebox) reply.error = std::errc::io_error;  // it has changed
    if (!is_copied && IsLeftToCaller(!has_source || has_target)) {
      reply.error = std::errc::operation_not_supported;
    }
  }

  bool CanRecover() const { return StateErrorOf(status_) != StateError::kNone; }
  std::errc Recover(rpc::Caller::Budget& budget) {
    if (StateErrorOf(status_) != StateError::kWait && ++attempts_ == kAttemptsMax) {
      return std::errc::operation_not_supported;
    }
    return open_files_.RecoverEither({source_.state, source_.used}, {target_.state, target_.used},
                                     status_, budget);
  }

 private:
  // Whether who reads the one file and writes the other may succeed, or learns what is the matter.
  // `may_be_source`: that may be the source.
  bool IsLeftToCaller(bool may_be_source) {
    switch (status_) {
      case NFS4ERR_NOTSUPP:
      case NFS4ERR_OP_ILLEGAL:
      case kOffloadNoRequests:
        is_missing_.store(true);
        return true;
      case kOffloadDenied:
      case NFS4ERR_XDEV:
        return true;
      case NFS4ERR_STALE:
      case NFS4ERR_BADHANDLE:
      case NFS4ERR_FHEXPIRED:
        return may_be_source;
      default:
        return false;
    }
  }

  OpenFiles& open_files_;
  const OwnerNames& owner_names_;
  End source_, target_;
  const CopiedRange range_;
  std::atomic<bool>& is_missing_;
  std::optional<Compound> compound_;
  std::optional<rpc::Request> request_;
  int status_ = NFS4_OK;  // nfsstat4 of the last reply
  int attempts_ = 0;      // that were lost, or recovered from
};

}  // namespace

FileChangeInFlight Nfs4::StartCopy(const FileHandle& file, const OpenState* state,
                                   const FileHandle& source, const OpenState* source_state,
                                   const CopiedRange& range, const Credential& credential) {
  if (!can_copy()) {
    return Protocol::StartCopy(file, state, source, source_state, range, credential);
  }
  return rpc::StartOperation<CopyOperation, FileChangeReply>(
      *caller_, credential, *open_files_, owner_names_, End{source, source_state}, End{file, state},
      range, &copy_is_missing_);
}

}  // namespace nfswalk::protocol
