// interrupt: Ctrl-C as a flag, so that a benchmark removes what it made before it ends.
#ifndef NFSWALK_BENCH_MEASURE_INTERRUPT_H_
#define NFSWALK_BENCH_MEASURE_INTERRUPT_H_

namespace nfswalk::bench {

// From now on SIGINT, SIGTERM and SIGHUP set the flag. The second signal of a kind ends the
// process, and with it a server of its own and a private tmpfs.
void CatchInterrupts();

// Whether one has come. Any thread, cheap.
bool Interrupted();

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_INTERRUPT_H_
