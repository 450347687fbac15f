#include "rcu/coarse_clock.h"

#include <gtest/gtest.h>

#include <ctime>

namespace nfswalk::rcu {
namespace {

uint64_t PreciseNowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

TEST(CoarseClock, ShowsATimeThatThePreciseClockHasPassed) {
  const uint64_t precise_before = PreciseNowNs();
  uint64_t coarse = CoarseNowNs();
  EXPECT_LE(coarse, PreciseNowNs());
  while (coarse < precise_before) coarse = CoarseNowNs();  // until the next tick
  EXPECT_LE(coarse, PreciseNowNs());
}

}  // namespace
}  // namespace nfswalk::rcu
