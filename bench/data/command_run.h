// command_run: a program that a turn runs: its time, its processor time, and what it complains of.
#ifndef NFSWALK_BENCH_DATA_COMMAND_RUN_H_
#define NFSWALK_BENCH_DATA_COMMAND_RUN_H_

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/data/contender.h"

namespace nfswalk::bench {

struct CommandTime {
  double seconds = 0;
  double cpu_s = 0;
};

// Runs `arguments`, the first of which is searched in PATH unless it has a slash, in the calling
// thread's network. Its output, of which 2000 bytes are kept, goes to `output`, else it is thrown
// away. The error has what it wrote to stderr.
std::expected<CommandTime, std::string> RunTimed(const std::vector<std::string>& arguments,
                                                 std::string* output = nullptr);

// A turn of `ops` operations that is one such run, as a client of the server of `place`. After an
// interrupt it ends early, without an error and without output.
std::expected<DataTurn, std::string> CommandTurn(const DataPlace& place,
                                                 const std::vector<std::string>& arguments,
                                                 uint64_t ops, std::string* output = nullptr);

// The URL of the place's directory, or of `file` in it ("/file").
std::string UrlOf(const DataPlace& place, const std::string& file, int version, Way way);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_DATA_COMMAND_RUN_H_
