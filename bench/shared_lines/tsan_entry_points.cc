// Defines the functions that GCC's -fsanitize=thread calls, for the Recorder instead of the thread
// sanitizer. Performs atomic operations, all sequentially consistent, as the sanitizer does; a
// read-modify-write counts as a write even if it fails.
#include <cstddef>
#include <cstdint>

#include "bench/shared_lines/recorder.h"

using nfswalk::bench::Recorder;

#define CALLER __builtin_return_address(0)

#define PLAIN(bytes)                                                                       \
  void __tsan_read##bytes(void* p) { Recorder::OnRead(p, bytes, CALLER); }                 \
  void __tsan_write##bytes(void* p) { Recorder::OnWrite(p, bytes, CALLER); }               \
  void __tsan_unaligned_read##bytes(const void* p) { Recorder::OnRead(p, bytes, CALLER); } \
  void __tsan_unaligned_write##bytes(void* p) { Recorder::OnWrite(p, bytes, CALLER); }

#define FETCH(bits, word, operation)                                          \
  word __tsan_atomic##bits##_##operation(volatile word* p, word value, int) { \
    Recorder::OnWrite(p, sizeof(word), CALLER);                               \
    return __atomic_##operation(p, value, __ATOMIC_SEQ_CST);                  \
  }

#define COMPARE_EXCHANGE(bits, word, strength)                                            \
  int __tsan_atomic##bits##_compare_exchange_##strength(volatile word* p, word* expected, \
                                                        word desired, int, int) {         \
    Recorder::OnWrite(p, sizeof(word), CALLER);                                           \
    return __atomic_compare_exchange_n(p, expected, desired, false, __ATOMIC_SEQ_CST,     \
                                       __ATOMIC_SEQ_CST);                                 \
  }

#define ATOMIC(bits, word)                                                 \
  word __tsan_atomic##bits##_load(const volatile word* p, int) {           \
    Recorder::OnRead(p, sizeof(word), CALLER);                             \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                           \
  }                                                                        \
  void __tsan_atomic##bits##_store(volatile word* p, word value, int) {    \
    Recorder::OnWrite(p, sizeof(word), CALLER);                            \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                          \
  }                                                                        \
  word __tsan_atomic##bits##_exchange(volatile word* p, word value, int) { \
    Recorder::OnWrite(p, sizeof(word), CALLER);                            \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                \
  }                                                                        \
  FETCH(bits, word, fetch_add)                                             \
  FETCH(bits, word, fetch_sub)                                             \
  FETCH(bits, word, fetch_and)                                             \
  FETCH(bits, word, fetch_or)                                              \
  FETCH(bits, word, fetch_xor)                                             \
  COMPARE_EXCHANGE(bits, word, strong)                                     \
  COMPARE_EXCHANGE(bits, word, weak)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
void __tsan_read_range(void* p, size_t bytes) { Recorder::OnRead(p, bytes, CALLER); }
void __tsan_write_range(void* p, size_t bytes) { Recorder::OnWrite(p, bytes, CALLER); }
void __tsan_vptr_read(void** p) { Recorder::OnRead(p, sizeof(void*), CALLER); }
void __tsan_vptr_update(void** p, void*) { Recorder::OnWrite(p, sizeof(void*), CALLER); }

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
// Each pairs with what the fence in the recorded code pairs with.
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"
