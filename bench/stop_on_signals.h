// stop_on_signals: Ctrl-C as a wish, so that a benchmark removes what it made before it ends.
#ifndef NFSWALK_BENCH_STOP_ON_SIGNALS_H_
#define NFSWALK_BENCH_STOP_ON_SIGNALS_H_

#include <atomic>

namespace nfswalk::bench {

// What a shell returns for a process that SIGINT ended.
inline constexpr int kExitInterrupted = 130;

// From now on SIGINT, SIGTERM and SIGHUP set the flag that is returned, once each; the second of a
// kind ends the process, with which a server of its own and a private tmpfs vanish.
const std::atomic<bool>& StopOnSignals();

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_STOP_ON_SIGNALS_H_
