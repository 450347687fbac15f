// thread_index: a small number, unique among live threads.
//
// Contract    ThreadIndex() is the same for the whole life of a thread, and below kMaxThreadIndex
//             unless that many other threads live. An index is reused after its thread exits; the
//             new thread sees all stores of the old one.
// Thread safety: any thread, also from destructors of thread-local objects (then kNoThreadIndex).
#ifndef NFSWALK_RCU_THREAD_INDEX_H_
#define NFSWALK_RCU_THREAD_INDEX_H_

#include <cstdint>

namespace nfswalk::rcu {

inline constexpr uint32_t kMaxThreadIndex = 512;
// What threads get while kMaxThreadIndex others live: not an index of its own, shared.
inline constexpr uint32_t kNoThreadIndex = kMaxThreadIndex;

namespace internal {
inline constexpr uint32_t kUnassigned = ~uint32_t{0};
extern constinit thread_local uint32_t thread_index;
uint32_t AssignThreadIndex();
}  // namespace internal

inline uint32_t ThreadIndex() {
  const uint32_t index = internal::thread_index;
  return index != internal::kUnassigned ? index : internal::AssignThreadIndex();
}

// Every index given out so far is below this one; kMaxThreadIndex at most.
uint32_t ThreadIndicesEver();

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_THREAD_INDEX_H_
