// lock_order: which lock may be taken under which, checked at run time in debug builds.
//
// Every spinning lock has a class. A thread may only block on a class that ranks after all classes
// it holds; a second lock of the class it took last needs the nested form, whose caller guarantees
// an order inside the class (ancestor first, lower address first). A try-lock cannot deadlock and
// is recorded, not checked. A violation prints both classes and aborts.
//
// Compiled in unless NDEBUG is set (or if NFSWALK_LOCK_ORDER is defined); otherwise every function
// is empty. Thread safety: all state is per thread.
#ifndef NFSWALK_RCU_LOCK_ORDER_H_
#define NFSWALK_RCU_LOCK_ORDER_H_

#include <cstddef>
#include <cstdint>

#if !defined(NDEBUG) && !defined(NFSWALK_LOCK_ORDER)
#define NFSWALK_LOCK_ORDER 1
#endif

namespace nfswalk::rcu {

// Outermost first. kDirectory and kFile are held across RPCs, by mutexes that sleep; from kRename on
// a holder never sleeps.
enum class LockClass : uint8_t {
  kDirectory,
  kFile,
  kRename,
  kHashChain,
  kSuperblockList,
  kInode,
  kAccessLru,
  kAccess,
  kDentry,
  kLru,
  kCredential,
  kWait,
  kLeaf,  // nothing is ever taken under it: pools, queues
};
inline constexpr size_t kLockClassCount = static_cast<size_t>(LockClass::kLeaf) + 1;

const char* LockClassName(LockClass lock_class);

enum class LockAttempt : uint8_t {
  kBlocking,  // must rank after everything held
  kNested,    // may also equal the highest class held
  kTry,       // succeeded without waiting
};

#ifdef NFSWALK_LOCK_ORDER

// For lock implementations: call before blocking (so that a deadlock is reported, not entered), or
// after a try-lock succeeded.
void NoteLockAcquire(LockClass lock_class, const void* lock, LockAttempt attempt);
void NoteLockRelease(const void* lock);

// May-sleep check: the thread holds no lock of a spinning class (kRename and later).
void AssertNoLocksHeld();
// AssertNoLocksHeld(), and the thread is in no read-side critical section.
void AssertMaySleep();
void AssertInReadSection();
void AssertLockHeld(const void* lock);

// Acquisitions by the calling thread since it started, of all classes or of one.
uint64_t ThreadLockCount();
uint64_t ThreadLockCount(LockClass lock_class);

#else

inline void NoteLockAcquire(LockClass, const void*, LockAttempt) {}
inline void NoteLockRelease(const void*) {}
inline void AssertNoLocksHeld() {}
inline void AssertMaySleep() {}
inline void AssertInReadSection() {}
inline void AssertLockHeld(const void*) {}
inline uint64_t ThreadLockCount() { return 0; }
inline uint64_t ThreadLockCount(LockClass) { return 0; }

#endif

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_LOCK_ORDER_H_
