// options: what cold_walk is told on its command line.
#ifndef NFSWALK_BENCH_COLD_WALK_OPTIONS_H_
#define NFSWALK_BENCH_COLD_WALK_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace nfswalk::bench {

struct ColdOptions {
  uint64_t files = 100'000;
  std::vector<size_t> threads = {1, 4};
  size_t repetitions = 5;
  uint64_t libnfs_one_in = 10;
  std::string server;     // an nfs:// URL; empty: a server of our own
  std::string json_file;  // empty: none
};

// An exit code if there is nothing to run: 0 after --help, 2 after bad arguments, explained on
// stderr.
std::variant<ColdOptions, int> ParseColdOptions(int argc, char** argv);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_OPTIONS_H_
