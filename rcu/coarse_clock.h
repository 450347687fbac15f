// coarse_clock: the time of the last kernel tick, cheap enough to read in every path component.
#ifndef NFSWALK_RCU_COARSE_CLOCK_H_
#define NFSWALK_RCU_COARSE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace nfswalk::rcu {

// CLOCK_MONOTONIC_COARSE in nanoseconds; a tick behind at most. Never 0, so that 0 may stand for
// "no time recorded".
inline uint64_t CoarseNowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const uint64_t ns =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  return ns != 0 ? ns : 1;
}

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_COARSE_CLOCK_H_
