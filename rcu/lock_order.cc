#include "rcu/lock_order.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "rcu/read_guard.h"

namespace nfswalk::rcu {

const char* LockClassName(LockClass lock_class) {
  static constexpr std::array<const char*, kLockClassCount> kNames = {
      "directory", "file",   "rename", "hash chain", "superblock list", "inode", "access LRU",
      "access",    "dentry", "LRU",    "credential", "wait",            "leaf"};
  return kNames[static_cast<size_t>(lock_class)];
}

#ifdef NFSWALK_LOCK_ORDER

namespace {

struct HeldLock {
  const void* lock;
  LockClass lock_class;
};

// Deeper nesting than this is a bug in itself.
constexpr size_t kMaxHeld = 24;

struct ThreadLocks {
  std::array<HeldLock, kMaxHeld> held;
  size_t depth = 0;
  std::array<uint64_t, kLockClassCount> acquisitions{};
};

constinit thread_local ThreadLocks thread_locks{};

[[noreturn]] void Fail(const char* what, LockClass lock_class, const char* held) {
  std::fprintf(stderr, "lock order: %s: %s (held: %s)\n", what, LockClassName(lock_class), held);
  std::abort();
}

}  // namespace

void NoteLockAcquire(LockClass lock_class, const void* lock, LockAttempt attempt) {
  ThreadLocks& locks = thread_locks;
  for (size_t i = 0; i < locks.depth; ++i) {
    const HeldLock& held = locks.held[i];
    if (held.lock == lock) Fail("already held by this thread", lock_class, "itself");
    if (attempt == LockAttempt::kTry) continue;
    const bool in_order = held.lock_class < lock_class ||
                          (attempt == LockAttempt::kNested && held.lock_class == lock_class);
    if (!in_order) Fail("taken out of order", lock_class, LockClassName(held.lock_class));
  }
  if (locks.depth == kMaxHeld) Fail("too many locks", lock_class, "many");
  locks.held[locks.depth++] = {lock, lock_class};
  ++locks.acquisitions[static_cast<size_t>(lock_class)];
}

void NoteLockRelease(const void* lock) {
  ThreadLocks& locks = thread_locks;
  for (size_t i = locks.depth; i-- > 0;) {
    if (locks.held[i].lock != lock) continue;
    for (size_t j = i + 1; j < locks.depth; ++j) locks.held[j - 1] = locks.held[j];
    --locks.depth;
    return;
  }
  std::fprintf(stderr, "lock order: a lock is released that this thread does not hold\n");
  std::abort();
}

void AssertNoLocksHeld() {
  const ThreadLocks& locks = thread_locks;
  for (size_t i = 0; i < locks.depth; ++i) {
    const LockClass lock_class = locks.held[i].lock_class;
    if (lock_class >= LockClass::kRename) Fail("must not be held", lock_class, "here");
  }
}

void AssertMaySleep() {
  AssertNoLocksHeld();
  if (InReadSection()) {
    std::fprintf(stderr, "lock order: sleeping inside a read-side critical section\n");
    std::abort();
  }
}

void AssertInReadSection() {
  if (!InReadSection()) {
    std::fprintf(stderr, "lock order: not inside a read-side critical section\n");
    std::abort();
  }
}

void AssertLockHeld(const void* lock) {
  const ThreadLocks& locks = thread_locks;
  for (size_t i = 0; i < locks.depth; ++i) {
    if (locks.held[i].lock == lock) return;
  }
  std::fprintf(stderr, "lock order: a lock that must be held is not\n");
  std::abort();
}

uint64_t ThreadLockCount() {
  const auto& counts = thread_locks.acquisitions;
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

uint64_t ThreadLockCount(LockClass lock_class) {
  return thread_locks.acquisitions[static_cast<size_t>(lock_class)];
}

#endif

}  // namespace nfswalk::rcu
