// options: the command line of make_replay.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_OPTIONS_H_
#define NFSWALK_BENCH_MAKE_REPLAY_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "nfsclient/nfs/mount_options.h"

namespace nfswalk::bench {

struct Options {
  // From the root of the checkout, where bench/run.sh starts it.
  std::vector<std::string> traces = {"bench/traces/git-null.strace.xz",
                                     "bench/traces/linux-null.strace.xz"};
  std::vector<WalkMode> modes;  // of nfswalk, each mounted beside the others
  bool kernel = false;          // the system calls, on a tmpfs
  bool libnfs = false;          // its synchronous calls, one pass
  std::vector<size_t> threads = {1, 2, 4, 8};
  double seconds = 3;  // warm, for each subject and number of threads
  size_t rounds =
      3;  // the seconds are spread over so many turns, interleaved with the other subjects
  size_t libnfs_one_in = 1;
  std::string server;  // empty: start our own
  std::string json_file;
  uint64_t kill_server_after = 0;  // calls, 0: never
};

// The options, or the exit code (0 after --help) with everything already said.
std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_OPTIONS_H_
