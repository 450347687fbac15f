// run_options: what most benchmarks are told.
#ifndef NFSWALK_BENCH_MEASURE_RUN_OPTIONS_H_
#define NFSWALK_BENCH_MEASURE_RUN_OPTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace nfswalk::bench {

struct RunOptions {
  std::vector<size_t> threads;
  size_t repetitions = 1;
  std::string server = {};     // an nfs:// URL; empty: a server of our own
  std::string json_file = {};  // empty: stdout
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_RUN_OPTIONS_H_
