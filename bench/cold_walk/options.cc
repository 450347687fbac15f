#include "bench/cold_walk/options.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kFilesMax = 10'000'000;

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
  app.add_option("--libnfs-one-in", options.libnfs_one_in,
                 "libnfs looks at one in so many files: it caches nothing, so that they do")
      ->check(CLI::Range(uint64_t{1}, kFilesMax))
      ->capture_default_str();
  AddRunOptions(app, options);
  if (const auto exit_code = ExitCodeOfParsing(app, argc, argv)) return *exit_code;
  return options;
}

}  // namespace nfswalk::bench
