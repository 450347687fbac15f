#include "rcu/thread_index.h"

#include <atomic>
#include <bitset>
#include <mutex>

namespace nfswalk::rcu::internal {

constinit thread_local uint32_t thread_index = kUnassigned;

namespace {

constinit std::mutex index_mutex;
constinit std::bitset<kMaxThreadIndex> index_taken;
constinit std::atomic<uint32_t> indices_ever{0};  // written under index_mutex

struct IndexOwner {
  ~IndexOwner() {
    const uint32_t index = thread_index;
    thread_index = kNoThreadIndex;  // destructors that run later share the slot without an owner
    if (index == kNoThreadIndex) return;
    std::lock_guard lock(index_mutex);
    index_taken.reset(index);
  }
};

uint32_t TakeFreeIndex() {
  std::lock_guard lock(index_mutex);
  for (uint32_t index = 0; index < kMaxThreadIndex; ++index) {
    if (index_taken.test(index)) continue;
    index_taken.set(index);
    if (index >= indices_ever.load(std::memory_order_relaxed)) {
      indices_ever.store(index + 1, std::memory_order_relaxed);
    }
    return index;
  }
  return kNoThreadIndex;
}

}  // namespace

uint32_t AssignThreadIndex() {
  thread_index = TakeFreeIndex();
  thread_local IndexOwner owner;
  (void)owner;
  return thread_index;
}

}  // namespace nfswalk::rcu::internal

namespace nfswalk::rcu {

uint32_t ThreadIndicesEver() { return internal::indices_ever.load(std::memory_order_relaxed); }

}  // namespace nfswalk::rcu
