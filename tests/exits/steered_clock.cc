#include "tests/exits/steered_clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace nfswalk::exits {
namespace {
constinit std::atomic<uint64_t> now{1'000'000 * kSecond};
}  // namespace

void SteeredClock::Set(uint64_t now_ns) { now = now_ns; }
uint64_t SteeredClock::Now() { return now; }

}  // namespace nfswalk::exits

extern "C" int clock_gettime(clockid_t clock, timespec* into) noexcept {
  using nfswalk::exits::kSecond;
  if (clock != CLOCK_MONOTONIC_COARSE) {
    return static_cast<int>(syscall(SYS_clock_gettime, clock, into));
  }
  const uint64_t ns = nfswalk::exits::SteeredClock::Now();
  into->tv_sec = static_cast<time_t>(ns / kSecond);
  into->tv_nsec = static_cast<long>(ns % kSecond);
  return 0;
}
