#include "bench/cold_walk/options.h"

#include <CLI/CLI.hpp>

namespace nfswalk::bench {
namespace {

constexpr uint64_t kFilesMax = 10'000'000;
constexpr size_t kThreadsMax = 256;
constexpr size_t kRepetitionsMax = 1000;

}  // namespace

std::variant<ColdOptions, int> ParseColdOptions(int argc, char** argv) {
  ColdOptions options;
  CLI::App app(
      "Walks of a tree of files at depth 6 by a client that has seen none of it, over NFSv3 and "
      "NFSv4, against libnfs' synchronous calls and against the same calls without a client. All "
      "take turns.",
      "cold_walk");
  app.add_option("--files", options.files, "Files of the tree, a hundred in a directory")
      ->check(CLI::Range(uint64_t{1}, kFilesMax))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Numbers of threads, one row each")
      ->delimiter(',')
      ->check(CLI::Range(size_t{1}, kThreadsMax))
      ->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "Of which the median counts")
      ->check(CLI::Range(size_t{1}, kRepetitionsMax))
      ->capture_default_str();
  app.add_option("--libnfs-one-in", options.libnfs_one_in,
                 "libnfs looks at one in so many files: it caches nothing, so that they do")
      ->check(CLI::Range(uint64_t{1}, kFilesMax))
      ->capture_default_str();
  app.add_option("--server", options.server,
                 "Run on this nfs:// URL, in a new directory there as uid 0 [an nfs-ganesha of our "
                 "own]");
  app.add_option("--json", options.json_file, "Write the rows to this file too");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports through exceptions; none passes on from here.
    return app.exit(error) == 0 ? 0 : 2;
  }
  return options;
}

}  // namespace nfswalk::bench
