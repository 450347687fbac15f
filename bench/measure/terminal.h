// terminal: what a benchmark prints to stderr while it runs, and Ctrl-C as a flag, so that it
// removes what it made before it ends.
#ifndef NFSWALK_BENCH_MEASURE_TERMINAL_H_
#define NFSWALK_BENCH_MEASURE_TERMINAL_H_

#include <string_view>

namespace nfswalk::bench {

// Replaces the line of progress on stderr; an empty text removes it. Where stderr is no terminal it
// prints a line instead, at most one in ten seconds.
void ShowProgress(std::string_view text);

// Prints "BENCH: text" as a line of its own on stderr.
void Warn(std::string_view bench, std::string_view text);

// From now on SIGINT, SIGTERM and SIGHUP set the flag. The second signal of a kind ends the
// process, and with it a server of its own and a private tmpfs.
void CatchInterrupts();

// Whether one has come. Any thread, cheap.
bool Interrupted();

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_TERMINAL_H_
