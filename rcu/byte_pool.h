// byte_pool: immutable strings that RCU readers may follow: long names, symlink bodies.
#ifndef NFSWALK_RCU_BYTE_POOL_H_
#define NFSWALK_RCU_BYTE_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rcu/slab_pool.h"

namespace nfswalk::rcu {

// Never changes between Allocate() and the end of the grace period of FreeDeferred(), so readers
// need no atomics: publish the pointer with release, load it with acquire.
struct alignas(8) ByteString {
  uint64_t size;  // without the NUL

  // Eight-byte aligned, ended by a NUL and zeros up to a whole word: may be read word by word.
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view view() const { return {data(), size}; }
};
static_assert(sizeof(ByteString) % 8 == 0);

// Thread safety: all functions but the destructor (see SlabPool).
class BytePool {
 public:
  static constexpr size_t kMaxBytes = 4096;

  BytePool();

  // A copy of `bytes`, at most kMaxBytes of them (asserted). nullptr if there is no memory.
  ByteString* Allocate(std::string_view bytes);
  // After a grace period.
  void FreeDeferred(ByteString* string);

  // Hands memory without a live string back to the system, after a grace period.
  void Trim();

  // Strings allocated and not freed; one on its way through FreeDeferred() counts.
  size_t live() const;
  size_t capacity_bytes() const;

 private:
  static constexpr size_t kSizeClasses = 8;
  std::array<SlabPool, kSizeClasses> size_classes_;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_BYTE_POOL_H_
