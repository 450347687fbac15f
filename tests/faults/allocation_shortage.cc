#include "tests/faults/allocation_shortage.h"

#include <cstddef>
#include <cstdlib>
#include <new>

#include "rcu/allocation_fault.h"

namespace nfswalk::faults {
namespace {

// Of the heap, by thread: the servers and the threads of liburcu have memory.
struct HeapShortage {
  bool on = false;
  bool suspended = false;
  bool once = false;
  int64_t remaining = 0;
  int64_t failures = 0;
  int64_t allocations = 0;
};
constinit thread_local HeapShortage heap;

void* Allocate(size_t bytes, size_t alignment) {
  ++heap.allocations;
  if (heap.on && !heap.suspended) {
    const int64_t left = heap.remaining--;
    if (left == 0 || (left < 0 && !heap.once)) {
      ++heap.failures;
      throw std::bad_alloc();
    }
  }
  void* const memory =
      std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

template <class RcuFault>
void Start(Extent extent, int64_t succeed) {
  if (extent == Extent::kOnce) {
    RcuFault::FailOnceAfter(succeed);
  } else {
    RcuFault::FailAfter(succeed);
  }
}

}  // namespace

AllocationShortage::AllocationShortage(MemoryKind kind, Extent extent, int64_t succeed)
    : kind_(kind) {
  switch (kind) {
    case MemoryKind::kHeap:
      heap.failures = 0;
      heap.once = extent == Extent::kOnce;
      heap.remaining = succeed;
      heap.on = true;
      break;
    case MemoryKind::kPoolObject:
      Start<rcu::AllocationFault>(extent, succeed);
      break;
    case MemoryKind::kPageArea:
      Start<rcu::MappingFault>(extent, succeed);
      break;
  }
}

AllocationShortage::~AllocationShortage() {
  heap.on = false;
  rcu::AllocationFault::Clear();
  rcu::MappingFault::Clear();
}

bool AllocationShortage::occurred() const {
  switch (kind_) {
    case MemoryKind::kHeap:
      return heap.failures > 0;
    case MemoryKind::kPoolObject:
      return rcu::AllocationFault::failures() > 0;
    case MemoryKind::kPageArea:
      return rcu::MappingFault::failures() > 0;
  }
  __builtin_unreachable();
}

OtherMemory::OtherMemory() : was_suspended_(heap.suspended) { heap.suspended = true; }
OtherMemory::~OtherMemory() { heap.suspended = was_suspended_; }

int64_t HeapAllocations() { return heap.allocations; }

}  // namespace nfswalk::faults

void* operator new(size_t bytes) {
  return nfswalk::faults::Allocate(bytes, alignof(std::max_align_t));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return nfswalk::faults::Allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return operator new(bytes, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
