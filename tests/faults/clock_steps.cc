#include "tests/faults/clock_steps.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace nfswalk::faults {

namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Constant initialization: libraries read clocks before main().
constinit std::atomic<int64_t> realtime_step_ns{0};
constinit std::atomic<int64_t> monotonic_step_ns{0};
constinit std::atomic<int64_t> coarse_frozen_at_ns{0};
constinit std::atomic<uint64_t> readings{0};

int64_t StepOf(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      return realtime_step_ns.load();
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
      return monotonic_step_ns.load();
    default:
      return 0;
  }
}

timespec Moved(const timespec& time, int64_t by_ns) {
  int64_t seconds = time.tv_sec + by_ns / kSecond;
  int64_t rest = time.tv_nsec + by_ns % kSecond;
  if (rest < 0) rest += kSecond, --seconds;
  if (rest >= kSecond) rest -= kSecond, ++seconds;
  return {seconds, rest};
}

}  // namespace

void StepRealtime(std::chrono::nanoseconds by) { realtime_step_ns.fetch_add(by.count()); }
void StepMonotonic(std::chrono::nanoseconds by) { monotonic_step_ns.fetch_add(by.count()); }
void FreezeCoarse(uint64_t at_ns) { coarse_frozen_at_ns.store(static_cast<int64_t>(at_ns)); }
void RestoreClocks() {
  realtime_step_ns.store(0);
  monotonic_step_ns.store(0);
  coarse_frozen_at_ns.store(0);
}
uint64_t ClockReadings() { return readings.load(); }

}  // namespace nfswalk::faults

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using namespace nfswalk::faults;
  readings.fetch_add(1);
  const int64_t frozen_at_ns = coarse_frozen_at_ns.load();
  if (clock == CLOCK_MONOTONIC_COARSE && frozen_at_ns != 0) {
    *now = {frozen_at_ns / kSecond, frozen_at_ns % kSecond};
    return 0;
  }
  const long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed == 0) *now = Moved(*now, StepOf(clock));
  return static_cast<int>(failed);
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* into) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (into != nullptr) *into = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  using namespace nfswalk::faults;
  static const auto next = reinterpret_cast<decltype(&pthread_cond_clockwait)>(
      dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  const timespec in_kernel = Moved(*until, -StepOf(clock));
  return next(condition, mutex, clock, &in_kernel);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  using namespace nfswalk::faults;
  static const auto next = reinterpret_cast<decltype(&pthread_cond_timedwait)>(
      dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2"));
  const timespec in_kernel = Moved(*until, -StepOf(CLOCK_REALTIME));
  return next(condition, mutex, &in_kernel);
}

}  // extern "C"
