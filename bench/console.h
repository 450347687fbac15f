// console: what a benchmark says while it runs, and where it leaves its rows.
#ifndef NFSWALK_BENCH_CONSOLE_H_
#define NFSWALK_BENCH_CONSOLE_H_

#include <string>
#include <string_view>

namespace nfswalk::bench {

// Replaces the line of progress on stderr; nothing where stderr is no terminal. An empty one takes
// it away.
void ShowProgress(std::string_view what);

// Empty, or the error.
std::string WriteTextFile(const std::string& file, std::string_view text);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_CONSOLE_H_
