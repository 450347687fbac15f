#include <optional>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/status.h"
#include "nfsclient/rpc/internal_errors.h"
#include "nfsclient/rpc/session_slots.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

namespace nfswalk::protocol {

CompoundReader::CompoundReader(rpc::XdrReader& results) : body_(results) {
  refused_status_ = static_cast<int>(body_.U32());
  (void)body_.Bytes(body_.bytes_left());  // the tag
  results_left_ = body_.U32();
  if (!body_.good()) Fail();
  rpc::XdrReader begin = body_;
  if (results_left_ == 0 || begin.U32() != rpc::kOpSequence) return;
  --results_left_;
  const auto sequence = rpc::ReadSequence(body_);
  if (!sequence) {
    Fail();
    return;
  }
  status_ = static_cast<int>(sequence->status);
  error_ = ErrnoOfStatus4(status_);
}

bool CompoundReader::Next(int operation) {
  if (error_ != std::errc{}) return false;
  if (results_left_ == 0) {
    // No result: the server may have refused the whole COMPOUND (NFS4ERR_RESOURCE).
    status_ = refused_status_;
    error_ = status_ == NFS4_OK ? std::errc::io_error : ErrnoOfStatus4(status_);
    return false;
  }
  --results_left_;
  const auto answered = static_cast<int>(body_.U32());
  const auto status = static_cast<int>(body_.U32());
  if (!body_.good() || answered != operation) {
    Fail();
    return false;
  }
  status_ = status;
  error_ = ErrnoOfStatus4(status);
  if (error_ == kTooSmall && operation != OP_READDIR) Fail();  // valid for READDIR only
  if (status != NFS4_OK) return false;
  // SETATTR's attrsset is not used.
  if (operation == OP_SETATTR) SkipBitmap();
  return TakeBody(true);
}

bool CompoundReader::TakeBody(bool is_valid) {
  if (!is_valid || !body_.good()) Fail();
  return error_ == std::errc{};
}

void CompoundReader::SkipBitmap() {
  const size_t words = body_.U32();
  body_.Skip(words * sizeof(uint32_t));
}

}  // namespace nfswalk::protocol
