#include "rcu/thread_index.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <mutex>

#include "rcu/fork.h"

namespace nfswalk::rcu::internal {

constinit thread_local uint32_t thread_index = kUnassigned;

namespace {

constexpr size_t kBits = 64;
constexpr size_t kWords = kMaxThreadIndex / kBits;

constinit std::mutex index_mutex;
// Under index_mutex. Half a megabyte of zero pages, of which threads touch what they need.
constinit std::array<uint64_t, kWords> index_taken{};
constinit size_t first_with_room = 0;             // every word before it is full
constinit std::atomic<uint32_t> indices_ever{0};  // written under index_mutex

struct IndexOwner {
  ~IndexOwner() {
    const uint32_t index = thread_index;
    thread_index = kNoThreadIndex;  // destructors that run later share the slot without an owner
    if (index == kNoThreadIndex || InForkedChild()) return;
    std::lock_guard lock(index_mutex);
    index_taken[index / kBits] &= ~(uint64_t{1} << index % kBits);
    first_with_room = std::min(first_with_room, index / kBits);
  }
};

uint32_t TakeFreeIndex() {
  std::lock_guard lock(index_mutex);
  while (first_with_room < kWords && index_taken[first_with_room] == ~uint64_t{0}) {
    ++first_with_room;
  }
  if (first_with_room == kWords) return kNoThreadIndex;
  uint64_t& word = index_taken[first_with_room];
  const int bit = std::countr_one(word);
  word |= uint64_t{1} << bit;
  const auto index = static_cast<uint32_t>(first_with_room * kBits + static_cast<size_t>(bit));
  if (index >= indices_ever.load(std::memory_order_relaxed)) {
    indices_ever.store(index + 1, std::memory_order_relaxed);
  }
  return index;
}

}  // namespace

uint32_t AssignThreadIndex() {
  if (InForkedChild()) return thread_index = kNoThreadIndex;
  thread_index = TakeFreeIndex();
  thread_local IndexOwner owner;
  (void)owner;
  return thread_index;
}

}  // namespace nfswalk::rcu::internal

namespace nfswalk::rcu {

uint32_t ThreadIndicesEver() { return internal::indices_ever.load(std::memory_order_relaxed); }

}  // namespace nfswalk::rcu
