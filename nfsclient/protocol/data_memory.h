// data_memory: memory that replies and their data come into, which one thread makes and another
// lets go of.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_DATA_MEMORY_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_DATA_MEMORY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace nfswalk::protocol {

struct FreeDataMemory {
  size_t mapped_bytes = 0;  // 0: of operator new
  void operator()(std::byte* memory) const {
    if (mapped_bytes != 0) {
      munmap(memory, mapped_bytes);
    } else {
      delete[] memory;
    }
  }
};
using DataMemory = std::unique_ptr<std::byte[], FreeDataMemory>;

#ifdef __SANITIZE_ADDRESS__
inline constexpr size_t kMappedBytesMin = SIZE_MAX;  // it sees no end of a mapping
#else
// So many bytes go back to the system when they are let go of: malloc(3) would keep some for each
// thread that made them.
inline constexpr size_t kMappedBytesMin = 256 << 10;
#endif

// Returns null without memory.
inline DataMemory NewDataMemory(size_t bytes) noexcept {
  if (bytes < kMappedBytesMin) return DataMemory(new (std::nothrow) std::byte[bytes]);
  void* const mapping =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return {};
  return DataMemory(static_cast<std::byte*>(mapping), {bytes});
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_DATA_MEMORY_H_
