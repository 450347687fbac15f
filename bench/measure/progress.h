// progress: what a benchmark says on stderr while it runs and when it ends.
#ifndef NFSWALK_BENCH_MEASURE_PROGRESS_H_
#define NFSWALK_BENCH_MEASURE_PROGRESS_H_

#include <string_view>

#include "bench/measure/outcome.h"

namespace nfswalk::bench {

// What a shell returns for a process that SIGINT ended.
inline constexpr int kExitInterrupted = 130;

// Replaces the line of progress on stderr; nothing where stderr is no terminal. An empty text
// removes it.
void ShowProgress(std::string_view text);

// Prints "BENCH: text" as a line of its own on stderr.
void Warn(std::string_view bench, std::string_view text);

// Removes the line of progress and returns the exit code: 1 with the error printed, 130 after an
// interrupt, 0.
int Finish(std::string_view bench, const Outcome& outcome);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_PROGRESS_H_
