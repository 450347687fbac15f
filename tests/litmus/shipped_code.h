// shipped_code: compiles code of the client, unchanged, over the memory model. Included before
// every source of a litmus test (-include).
//
// Replaces std::atomic and std::atomic_thread_fence, and these headers; all others are the
// client's:
//
//   rcu/read_guard.h, rcu/defer.h      read-side sections and grace periods of the model
//   rcu/spin_wait.h                    a waiter runs again once what it loaded has changed
//   rcu/thread_index.h                 fibers share thread_local
//   rcu/page_region.h                  heap memory
//   sunrpc_auth/credential_cache.h     a CredentialRef whose data races are found
#ifndef NFSWALK_TESTS_LITMUS_SHIPPED_CODE_H_
#define NFSWALK_TESTS_LITMUS_SHIPPED_CODE_H_

// Headers that use std::atomic and are not under test are included before the name changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/intrusive/set_hook.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>

#include "tests/litmus/checked_atomic.h"

namespace std {
using nfswalk::litmus::checked_atomic;
using nfswalk::litmus::checked_fence;
}  // namespace std
#define atomic checked_atomic
#define atomic_thread_fence checked_fence

#define NFSWALK_RCU_READ_GUARD_H_
#define NFSWALK_RCU_DEFER_H_
#define NFSWALK_RCU_SPIN_WAIT_H_
#define NFSWALK_RCU_THREAD_INDEX_H_
#define NFSWALK_RCU_PAGE_REGION_H_
#define NFSWALK_SUNRPC_AUTH_CREDENTIAL_CACHE_H_

namespace nfswalk::rcu {

inline bool InReadSection() { return litmus::InSection(); }

class [[nodiscard]] ReadGuard {
 public:
  ReadGuard() { litmus::BeginSection(); }
  ~ReadGuard() { litmus::EndSection(); }
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;
};

struct DeferHead {
  void* words[2];
};
inline void Defer(DeferHead* head, void (*fn)(DeferHead*)) {
  litmus::AfterGracePeriod([head, fn] { fn(head); });
}
inline void Synchronize() { litmus::WaitForGracePeriod(); }
// Callbacks end before RunThreads() does.
inline void Barrier() {}

class SpinWait {
 public:
  void Once() { litmus::AwaitChange(); }
};

// Returns the first thread's index for the scenario itself, too, which prepares as that thread.
inline uint32_t ThreadIndex() { return std::max(1u, litmus::ThreadNumber()); }

class PageRegion {
 public:
  static void* Map(size_t bytes, size_t alignment) {
    void* const area =
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    return area != nullptr ? std::memset(area, 0, bytes) : nullptr;
  }
  static void Unmap(void* area) { std::free(area); }
};

}  // namespace nfswalk::rcu

namespace nfswalk::sunrpc_auth {

// Compared by address. `unpinned` runs when a reference ends.
struct CachedCredential {
  std::function<void()> unpinned;
};

class CredentialRef {
 public:
  CredentialRef() : CredentialRef(nullptr) {}
  CredentialRef(CredentialRef&& other) noexcept : CredentialRef(other.release()) {}
  CredentialRef& operator=(CredentialRef other) noexcept {
    std::swap(credential_, other.credential_);
    litmus::WritePlain(this);
    return *this;
  }
  ~CredentialRef() {
    litmus::WritePlain(this);
    if (credential_ != nullptr && credential_->unpinned) credential_->unpinned();
  }

  const CachedCredential* get() const {
    litmus::ReadPlain(this);
    return credential_;
  }
  explicit operator bool() const { return get() != nullptr; }
  const CachedCredential* release() { return std::exchange(credential_, nullptr); }
  static CredentialRef Adopt(const CachedCredential* released) { return CredentialRef(released); }

 private:
  explicit CredentialRef(const CachedCredential* credential) : credential_(credential) {
    litmus::WritePlain(this);
  }

  const CachedCredential* credential_;
};

}  // namespace nfswalk::sunrpc_auth

#endif  // NFSWALK_TESTS_LITMUS_SHIPPED_CODE_H_
