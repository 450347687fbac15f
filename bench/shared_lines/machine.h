// machine: the machine that the code under the recorder finds itself on: as many processors as
// virtual threads, and the same random numbers in each run. Takes the place of functions of the
// library by the linker's --wrap (see BUILD).
#ifndef NFSWALK_BENCH_SHARED_LINES_MACHINE_H_
#define NFSWALK_BENCH_SHARED_LINES_MACHINE_H_

namespace nfswalk::bench {

// What std::thread::hardware_concurrency() answers from now on. While nobody asks.
void SetProcessors(unsigned processors);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_SHARED_LINES_MACHINE_H_
