#include "rcu/page_region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "rcu/allocation_fault.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace nfswalk::rcu {

namespace {

// The leak checker looks for pointers in these areas too.
void NoteMapped([[maybe_unused]] void* area, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __lsan_register_root_region(area, bytes);
#endif
}
void NoteUnmapped([[maybe_unused]] void* area, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __lsan_unregister_root_region(area, bytes);
#endif
}

struct Registry {
  std::mutex mutex;
  std::map<void*, size_t> areas;
  // Zeroed areas that are free, by size: the rest of a huge page, and what munmap() refused to
  // give back because it would have split a mapping beyond the kernel's limit.
  std::multimap<size_t, void*> parked;
  size_t mapped_bytes = 0;
};

// Leaked on purpose: the background thread of liburcu may unmap while the process exits.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

bool Aligned(const void* address, size_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

constexpr size_t kPopulateUpTo_bytes = size_t{64} << 10;
constexpr size_t kHugePagesFrom_bytes = size_t{4} << 20;
constexpr size_t kHugePage_bytes = size_t{2} << 20;
// So that the unused part of the last huge page is a quarter of the memory at most.
constexpr size_t kSlabsInHugePagesFrom_bytes = 4 * kHugePage_bytes;

void* MapPages(size_t bytes) {
  // Small areas are filled at once by their owner: one call instead of a fault for each page.
  const int populate = bytes <= kPopulateUpTo_bytes ? MAP_POPULATE : 0;
  void* area =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | populate, -1, 0);
  if (area == MAP_FAILED) return nullptr;
  // A hash table is read at random: with small pages each lookup would miss the TLB too. Advice.
  if (bytes >= kHugePagesFrom_bytes) madvise(area, bytes, MADV_HUGEPAGE);
  return area;
}

// The kernel places equal areas side by side, so after one aligned area the next try succeeds at
// once and leaves no holes.
void* MapAligned(size_t bytes, size_t alignment) {
  void* area = MapPages(bytes);
  if (area == nullptr || Aligned(area, alignment)) return area;
  munmap(area, bytes);
  auto* const begin = static_cast<char*>(MapPages(bytes + alignment));
  if (begin == nullptr) return nullptr;
  const size_t past = reinterpret_cast<uintptr_t>(begin) % alignment;
  const size_t head = alignment - past;
  munmap(begin, head);
  if (past != 0) munmap(begin + head + bytes, past);
  return begin + head;
}

// An area at the beginning of a huge page, the rest of which waits in `parked`: a large cache is
// read at random as well, and filled with a fraction of the faults. `bytes` is a power of two.
void* CutHugePage(Registry& registry, size_t bytes) {
  auto* const page = static_cast<char*>(MapAligned(kHugePage_bytes, kHugePage_bytes));
  if (page == nullptr) return nullptr;
  madvise(page, kHugePage_bytes, MADV_HUGEPAGE);
  size_t cut = bytes;
  try {
    for (; cut < kHugePage_bytes; cut += bytes) registry.parked.emplace(bytes, page + cut);
  } catch (const std::bad_alloc&) {
    munmap(page + cut, kHugePage_bytes - cut);
  }
  return page;
}

void* TakeParked(Registry& registry, size_t bytes, size_t alignment) {
  const auto [first, last] = registry.parked.equal_range(bytes);
  for (auto it = first; it != last; ++it) {
    if (!Aligned(it->second, alignment)) continue;
    void* const area = it->second;
    registry.parked.erase(it);
    return area;
  }
  return nullptr;
}

// Enters it in the registry.
void* Take(size_t bytes, size_t alignment) {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  void* area = TakeParked(registry, bytes, alignment);
  const bool slab_of_many = bytes == alignment && bytes < kHugePage_bytes &&
                            registry.mapped_bytes >= kSlabsInHugePagesFrom_bytes;
  if (area == nullptr && slab_of_many) area = CutHugePage(registry, bytes);
  if (area == nullptr) area = MapAligned(bytes, alignment);
  if (area == nullptr) return nullptr;
  try {
    registry.areas.emplace(area, bytes);
  } catch (const std::bad_alloc&) {
    munmap(area, bytes);
    return nullptr;
  }
  NoteMapped(area, bytes);
  registry.mapped_bytes += bytes;
  return area;
}

void ProtectAll(int protection) {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  for (const auto& [area, bytes] : registry.areas) {
    if (mprotect(area, bytes, protection) != 0) {
      std::perror("page region: mprotect");
      std::abort();
    }
  }
}

}  // namespace

void* PageRegion::Map(size_t bytes, size_t alignment) {
  if (MappingFault::ShouldFail()) return nullptr;
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  void* const area = Take(bytes, alignment);
  if (area == nullptr) return nullptr;
  // As in MapPages(), for pieces of a larger area.
  if (bytes <= kPopulateUpTo_bytes) madvise(area, bytes, MADV_POPULATE_WRITE);
  return area;
}

void PageRegion::Unmap(void* area) {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  const auto found = registry.areas.find(area);
  const size_t bytes = found->second;
  registry.areas.erase(found);
  NoteUnmapped(area, bytes);
  registry.mapped_bytes -= bytes;
  if (munmap(area, bytes) == 0) return;
  madvise(area, bytes, MADV_DONTNEED);
  try {
    registry.parked.emplace(bytes, area);
  } catch (const std::bad_alloc&) {
    // The addresses are lost; their pages were given back.
  }
}

void PageRegion::FreezeAll() { ProtectAll(PROT_READ); }
void PageRegion::ThawAll() { ProtectAll(PROT_READ | PROT_WRITE); }

size_t PageRegion::mapped_bytes() {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  return registry.mapped_bytes;
}

}  // namespace nfswalk::rcu
