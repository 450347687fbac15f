// The byte-range locks of nfswalk.h.

#include "nfsclient/c_api/c_binding.h"
#include "nfsclient/c_api/nfswalk.h"
#include "rcu/fork.h"

using nfswalk::File;
using nfswalk::LockType;
using nfswalk::c_binding::Guarded;
using nfswalk::c_binding::ResultOf;

namespace {

static_assert(NFSWALK_READ_LOCK == static_cast<unsigned>(LockType::kRead));
static_assert(NFSWALK_WRITE_LOCK == static_cast<unsigned>(LockType::kWrite));

// Runs `call(file, type)`.
template <class Call>
int WithLock(nfswalk_file* file, unsigned type, Call call) {
  if (file == nullptr) return -EFAULT;
  if (type != NFSWALK_READ_LOCK && type != NFSWALK_WRITE_LOCK) return -EINVAL;
  if (nfswalk::rcu::InForkedChild()) return -ECANCELED;
  return Guarded([&] { return call(*file->file, static_cast<LockType>(type)); });
}

}  // namespace

int nfswalk_lock(nfswalk_file* file, uint64_t owner, unsigned type, uint64_t offset_bytes,
                 uint64_t length_bytes) {
  return WithLock(file, type, [&](File& of, LockType how) {
    return ResultOf(of.Lock(owner, how, offset_bytes, length_bytes));
  });
}

int nfswalk_try_lock(nfswalk_file* file, uint64_t owner, unsigned type, uint64_t offset_bytes,
                     uint64_t length_bytes) {
  return WithLock(file, type, [&](File& of, LockType how) {
    return ResultOf(of.TryLock(owner, how, offset_bytes, length_bytes));
  });
}

int nfswalk_unlock(nfswalk_file* file, uint64_t owner, uint64_t offset_bytes,
                   uint64_t length_bytes) {
  return WithLock(file, NFSWALK_WRITE_LOCK, [&](File& of, LockType) {
    return ResultOf(of.Unlock(owner, offset_bytes, length_bytes));
  });
}

int nfswalk_test_lock(nfswalk_file* file, uint64_t owner, unsigned type, uint64_t offset_bytes,
                      uint64_t length_bytes, nfswalk_lock_conflict* conflict) {
  if (conflict == nullptr) return -EFAULT;
  return WithLock(file, type, [&](File& of, LockType how) {
    const auto found = of.TestLock(owner, how, offset_bytes, length_bytes);
    if (!found) return ResultOf(found.error());
    if (!*found) return 0;
    const nfswalk::LockConflict& held = **found;
    *conflict = {.type = static_cast<uint32_t>(held.type),
                 .has_owner = held.owner.has_value(),
                 .owner = held.owner.value_or(0),
                 .offset_bytes = held.offset_bytes,
                 .length_bytes = held.length_bytes};
    return 1;
  });
}
