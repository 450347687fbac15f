// progress: what a benchmark prints to stderr while it runs.
#ifndef NFSWALK_BENCH_MEASURE_PROGRESS_H_
#define NFSWALK_BENCH_MEASURE_PROGRESS_H_

#include <string_view>

namespace nfswalk::bench {

// Replaces the line of progress on stderr; nothing where stderr is no terminal. An empty text
// removes it.
void ShowProgress(std::string_view text);

// Prints "BENCH: text" as a line of its own on stderr.
void Warn(std::string_view bench, std::string_view text);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_PROGRESS_H_
