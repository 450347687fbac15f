// machine: the machine that recorded code sees: as many processors as virtual threads, and the same
// random numbers in each run. Replaces library functions by the linker's --wrap (see BUILD).
#ifndef NFSWALK_BENCH_SHARED_LINES_MACHINE_H_
#define NFSWALK_BENCH_SHARED_LINES_MACHINE_H_

namespace nfswalk::bench {

// Sets what std::thread::hardware_concurrency() returns. Not while another thread calls that.
void SetProcessors(unsigned processors);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_SHARED_LINES_MACHINE_H_
