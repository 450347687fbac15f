// read_guard: an RCU read-side critical section over liburcu-memb.
//
// A thread registers with liburcu the first time it enters a section and unregisters when it exits;
// no other code calls urcu_memb_register_thread(). Entering costs two plain stores to the thread's
// own memory (sys_membarrier moves the fences to the updater). Sections nest. Inside one, do not
// sleep, wait for a lock that may sleep, send an RPC or drop a reference that may free something.
//
// Thread safety: every function may be called from any thread.
#ifndef NFSWALK_RCU_READ_GUARD_H_
#define NFSWALK_RCU_READ_GUARD_H_

#include "rcu/tsan.h"

// Lets liburcu inline the two stores, in LGPL-compatible code. Not under the sanitizer, which would
// look into them and miss the barriers they rely on.
#if !defined(_LGPL_SOURCE) && !defined(NFSWALK_TSAN)
#define _LGPL_SOURCE
#endif
#include <urcu/urcu-memb.h>

namespace nfswalk::rcu {

namespace internal {
// Set by RegisterThread(), cleared by the thread's exit.
extern constinit thread_local bool thread_registered;
void RegisterThread();
}  // namespace internal

// True if the calling thread is inside a read-side critical section.
inline bool InReadSection() { return internal::thread_registered && urcu_memb_read_ongoing() != 0; }

class [[nodiscard]] ReadGuard {
 public:
  ReadGuard() {
    if (!internal::thread_registered) [[unlikely]]
      internal::RegisterThread();
    urcu_memb_read_lock();
  }
  ~ReadGuard() {
    tsan::ReleaseReadSection();
    urcu_memb_read_unlock();
  }
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_READ_GUARD_H_
