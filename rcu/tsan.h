// tsan: ThreadSanitizer annotations of liburcu, the only ones.
//
// liburcu orders "end of a read section" before "callback that frees" with sys_membarrier, which
// the sanitizer cannot see. Annotated with one address: leaving a section releases, a deferred
// callback acquires. Everything below is empty in other builds.
#ifndef NFSWALK_RCU_TSAN_H_
#define NFSWALK_RCU_TSAN_H_

#if defined(__SANITIZE_THREAD__)
#define NFSWALK_TSAN 1
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace nfswalk::rcu::tsan {

#ifdef NFSWALK_TSAN
inline char grace_period_tag;
inline void ReleaseReadSection() { __tsan_release(&grace_period_tag); }
inline void AcquireGracePeriod() { __tsan_acquire(&grace_period_tag); }
inline void Release(void* address) { __tsan_release(address); }
inline void Acquire(void* address) { __tsan_acquire(address); }
#else
inline void ReleaseReadSection() {}
inline void AcquireGracePeriod() {}
inline void Release(void*) {}
inline void Acquire(void*) {}
#endif

}  // namespace nfswalk::rcu::tsan

#endif  // NFSWALK_RCU_TSAN_H_
