// thread_index: a small number, unique among live threads.
//
// Contract    ThreadIndex() is the same for the whole life of a thread; the smallest that no other
//             live thread has. An index is reused after its thread exits; the new thread sees all
//             stores of the old one.
// Thread safety: any thread, also from destructors of thread-local objects (then kNoThreadIndex).
#ifndef NFSWALK_RCU_THREAD_INDEX_H_
#define NFSWALK_RCU_THREAD_INDEX_H_

#include <cstdint>

namespace nfswalk::rcu {

// As many threads as Linux runs at once (include/linux/threads.h: PID_MAX_LIMIT).
inline constexpr uint32_t kMaxThreadIndex = uint32_t{1} << 22;
// The index of threads that have given theirs back: they share it.
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
