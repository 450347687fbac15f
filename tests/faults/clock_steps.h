// clock_steps: moves the clocks of this process.
//
// Linking this in replaces clock_gettime(2), gettimeofday(2) and time(2) for the program and all
// its shared libraries, and the waits of pthread_cond_clockwait(3) and pthread_cond_timedwait(3),
// whose deadlines are in these clocks. A wait that has begun is not moved. poll(2) and similar
// calls take durations, which no step changes.
//
// Thread safety: all functions.
#ifndef NFSWALK_TESTS_FAULTS_CLOCK_STEPS_H_
#define NFSWALK_TESTS_FAULTS_CLOCK_STEPS_H_

#include <chrono>
#include <cstdint>

namespace nfswalk::faults {

// Steps CLOCK_REALTIME and CLOCK_REALTIME_COARSE, as date(1) does.
void StepRealtime(std::chrono::nanoseconds by);
// Steps CLOCK_MONOTONIC and CLOCK_MONOTONIC_COARSE.
void StepMonotonic(std::chrono::nanoseconds by);
// Freezes CLOCK_MONOTONIC_COARSE at this value; 0 releases it.
void FreezeCoarse(uint64_t at_ns);
// Makes all clocks the kernel's again.
void RestoreClocks();
// Returns how often the process has read CLOCK_REALTIME or CLOCK_MONOTONIC.
uint64_t ClockReadings();

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_CLOCK_STEPS_H_
