// recorder: which cache lines virtual threads share, of code that is compiled with
// -fsanitize=thread but linked with this runtime instead of the sanitizer's.
//
// The compiler calls an entry point at each load and store (tsan_entry_points.cc). Here a line
// belongs to who wrote it last. A write to a line that is another's is a shared write. A read of
// one is a shared read, once until the line is written again, as it then is in the reader's cache.
// INODE-21 states the result. Left out is what a thread does on its own stack, and what code does
// that is not compiled so: libraries, and the blocks that the compiler copies by itself.
//
// Deterministic if the threads take turns. Thread safety: all functions.
#ifndef NFSWALK_BENCH_SHARED_LINES_RECORDER_H_
#define NFSWALK_BENCH_SHARED_LINES_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nfswalk::bench {

struct SharedAccesses {
  uint64_t writes = 0;
  uint64_t reads = 0;
};

struct SharedLines {
  SharedAccesses among_threads;
  // Of lines that the thread which runs the callbacks of RCU wrote last.
  SharedAccesses after_callbacks;
  // Callbacks handed to RCU: each writes the queue of liburcu, which no entry point sees.
  uint64_t callbacks = 0;
};

class Recorder {
 public:
  static constexpr uint32_t kThreadsMax = 64;
  // Who runs the callbacks; its own accesses count for nobody.
  static constexpr uint32_t kCallbacks = kThreadsMax;
  static constexpr size_t kLineBytes = 64;

  // Where shared accesses come from: the return address of the entry point.
  struct Place {
    uintptr_t code;
    SharedAccesses accesses;
  };

  // From now on the calling thread is this virtual thread, until End().
  static void Begin(uint32_t thread);
  static void End();

  // Nobody wrote anything, and nothing is counted. Nobody is between Begin() and End().
  static void Forget();
  // Lines change hands whether or not it is counted.
  static void SetCounting(bool counting);
  static SharedLines counts();
  // Of the counts among threads, the most frequent first.
  static std::vector<Place> Places();

  // For the entry points.
  static void OnRead(const volatile void* address, size_t bytes, const void* code);
  static void OnWrite(const volatile void* address, size_t bytes, const void* code);
  static void OnCallback();
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_SHARED_LINES_RECORDER_H_
