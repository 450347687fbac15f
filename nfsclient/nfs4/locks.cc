// LOCK, LOCKU and LOCKT: state/open_file_locks.cc.
#include "nfsclient/nfs4/nfs4.h"

namespace nfswalk::protocol {

LockReply Nfs4::Lock(const OpenState& open, uint64_t owner, const RangeLock& wanted) {
  Budget budget = caller_->NewBudget();
  return open_files_->Lock(open, owner, wanted, budget);
}

std::errc Nfs4::Unlock(const OpenState& open, uint64_t owner, ByteRange range) {
  Budget budget = caller_->NewBudget();
  return open_files_->Unlock(open, owner, range, budget);
}

std::errc Nfs4::ReleaseLocks(const OpenState& open, uint64_t owner) {
  Budget budget = caller_->NewBudget();
  return open_files_->ReleaseLocks(open, owner, budget);
}

LockReply Nfs4::TestLock(const OpenState& open, uint64_t owner, const RangeLock& wanted) {
  Budget budget = caller_->NewBudget();
  return open_files_->TestLock(open, owner, wanted, budget);
}

std::errc Nfs4::ConfirmLocks(const OpenState& open) {
  Budget budget = caller_->NewBudget();
  return open_files_->ConfirmLocks(open, budget);
}

}  // namespace nfswalk::protocol
