// recorder: counts the cache lines that virtual threads share, in code that is compiled with
// -fsanitize=thread but linked with this runtime instead of the sanitizer's.
//
// The compiler calls an entry point at each load and store (tsan_entry_points.cc). A write to a
// line that another thread wrote last is a shared write. A read of such a line is a shared read,
// once until the line is written again, as it then is in the reader's cache. Not seen: a thread's
// own stack, libraries, and blocks that the compiler copies without a call.
//
// The code sees a machine with as many processors as virtual threads and the same random numbers in
// each run, by the linker's --wrap (machine.cc, BUILD).
//
// Deterministic if the threads take turns. Thread safety: all functions but SetProcessors().
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
  // Accesses to lines that the thread which runs RCU callbacks wrote last.
  SharedAccesses after_callbacks;
  // rcu::Defer(): each writes the queue of callbacks, which is not among the accesses.
  uint64_t callbacks = 0;
};

class Recorder {
 public:
  static constexpr uint32_t kThreadsMax = 64;
  // The thread that runs the callbacks; its own accesses are not counted.
  static constexpr uint32_t kCallbacks = kThreadsMax;
  static constexpr size_t kLineBytes = 64;

  // Locates shared accesses in the code, by the return address of the entry point.
  struct Place {
    uintptr_t code;
    SharedAccesses accesses;
  };

  // Sets what std::thread::hardware_concurrency() and rcu::CpuCount() return.
  static void SetProcessors(unsigned processors);

  // Makes the calling thread this virtual thread until End().
  static void Begin(uint32_t thread);
  static void End();
  // Returns the calling thread's virtual thread, or another number outside of Begin() and End().
  static uint32_t Thread();

  // Forgets all lines and counts, and stops counting. Preconditions: no thread is between Begin()
  // and End().
  static void Forget();
  // Starts or stops counting; who wrote which line is noted either way.
  static void SetCounting(bool counting);
  static SharedLines counts();
  // Returns the places of the accesses among threads, the most frequent first.
  static std::vector<Place> Places();

  // For the entry points.
  static void OnRead(const volatile void* address, size_t bytes, const void* code);
  static void OnWrite(const volatile void* address, size_t bytes, const void* code);
  static void OnCallback();
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_SHARED_LINES_RECORDER_H_
