// allocation_shortage: memory that runs out at one place or from one place on, whichever way it is
// asked for. Replaces the global `operator new` of the program it is linked into.
#ifndef NFSWALK_TESTS_FAULTS_ALLOCATION_SHORTAGE_H_
#define NFSWALK_TESTS_FAULTS_ALLOCATION_SHORTAGE_H_

#include <cstdint>

namespace nfswalk::faults {

enum class MemoryKind : uint8_t {
  kHeap,        // operator new, of the calling thread
  kPoolObject,  // an object of an rcu pool, of any thread
  kPageArea,    // a slab or a table, of any thread
};
enum class Extent : uint8_t { kOnce, kFromThenOn };

// While it lives, allocations of one kind fail after `succeed` more of them have been made. One at
// a time; not with NDEBUG, but for kHeap.
class AllocationShortage {
 public:
  AllocationShortage(MemoryKind kind, Extent extent, int64_t succeed);
  ~AllocationShortage();
  AllocationShortage(const AllocationShortage&) = delete;
  AllocationShortage& operator=(const AllocationShortage&) = delete;

  // Whether it has come to that.
  bool occurred() const;

 private:
  const MemoryKind kind_;
};

// The calling thread's heap is without end in this scope: what a server uses is not the client's.
class OtherMemory {
 public:
  OtherMemory();
  ~OtherMemory();
  OtherMemory(const OtherMemory&) = delete;
  OtherMemory& operator=(const OtherMemory&) = delete;

 private:
  const bool was_suspended_;
};

// Calls of `operator new` by this thread since it began.
int64_t HeapAllocations();

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_ALLOCATION_SHORTAGE_H_
