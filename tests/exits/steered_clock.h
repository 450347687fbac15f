// steered_clock: CLOCK_MONOTONIC_COARSE set by the test, for the whole process; other clocks run.
// List steered_clock.cc in the test's srcs: clock_gettime() of the executable precedes that of
// libraries and sanitizers.
//
// Thread safety: set it while no other thread reads it.
#ifndef NFSWALK_TESTS_EXITS_STEERED_CLOCK_H_
#define NFSWALK_TESTS_EXITS_STEERED_CLOCK_H_

#include <cstdint>

namespace nfswalk::exits {

inline constexpr uint64_t kSecond = 1'000'000'000;

class SteeredClock {
 public:
  static void Set(uint64_t now_ns);
  static uint64_t Now();
  static void Pass(uint64_t ns) { Set(Now() + ns); }
};

}  // namespace nfswalk::exits

#endif  // NFSWALK_TESTS_EXITS_STEERED_CLOCK_H_
