// clock_steps: moves the clocks of this process, for a test to see what depends on them.
//
// Linking this in replaces clock_gettime(2), gettimeofday(2) and time(2) for the program and all
// its shared libraries, and the waits of pthread_cond_clockwait(3) and pthread_cond_timedwait(3),
// whose deadlines are in these clocks. A wait that has begun is not moved. poll(2) and its like
// take spans of time, which no step of a clock changes.
//
// Thread safety: all functions.
#ifndef NFSWALK_TESTS_FAULTS_CLOCK_STEPS_H_
#define NFSWALK_TESTS_FAULTS_CLOCK_STEPS_H_

#include <chrono>
#include <cstdint>

namespace nfswalk::faults {

// What date(1) sets: CLOCK_REALTIME and its coarse sibling.
void StepRealtime(std::chrono::nanoseconds by);
// CLOCK_MONOTONIC and its coarse sibling.
void StepMonotonic(std::chrono::nanoseconds by);
// CLOCK_MONOTONIC_COARSE stands still at this value; 0 lets it go on.
void FreezeCoarse(uint64_t at_ns);
// All as the kernel has them.
void RestoreClocks();
// How often this program or a library has asked for CLOCK_REALTIME or for CLOCK_MONOTONIC.
uint64_t ClockReadings();

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_CLOCK_STEPS_H_
