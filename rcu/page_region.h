// page_region: page-aligned memory for all objects that an RCU-walk can reach, which a test can
// make read-only to prove that RCU-walks store nothing.
#ifndef NFSWALK_RCU_PAGE_REGION_H_
#define NFSWALK_RCU_PAGE_REGION_H_

#include <cstddef>

namespace nfswalk::rcu {

// A process-wide registry of anonymous mappings. Thread safety: every function, from any thread.
class PageRegion {
 public:
  // Zeroed memory. `bytes` is rounded up to whole pages; `alignment` is a power of two. nullptr if
  // the system has no more.
  static void* Map(size_t bytes, size_t alignment);
  // Hands an area from Map() back to the system.
  static void Unmap(void* area);

  // Makes every area mapped now read-only: any store to one is a SIGSEGV until ThawAll(). Areas
  // mapped later stay writable. Preconditions: no thread is about to write (no changing operation,
  // no deferred callback runs).
  static void FreezeAll();
  static void ThawAll();

  // Bytes in areas that exist now.
  static size_t mapped_bytes();
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_PAGE_REGION_H_
