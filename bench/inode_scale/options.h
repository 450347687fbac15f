// options: what inode_scale is told on its command line.
#ifndef NFSWALK_BENCH_INODE_SCALE_OPTIONS_H_
#define NFSWALK_BENCH_INODE_SCALE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bench/inode_scale/driver.h"

namespace nfswalk::bench {

struct ScaleOptions {
  // One for each fill time; all else is the same but the number of files.
  std::vector<Plan> plans;
  // Run on a real export: on this nfs:// URL, or on a server of our own if it is empty.
  std::optional<std::string> server;
  std::string json_file;     // empty: none
  std::string letters_file;  // empty: none
};

// An exit code if there is nothing to run: 0 after --help, 2 after bad arguments, explained on
// stderr.
std::variant<ScaleOptions, int> ParseScaleOptions(int argc, char** argv);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_OPTIONS_H_
