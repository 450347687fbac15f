// cold_walk: walks by a client that has seen nothing of the tree.
#include "bench/cold_walk/cold_run.h"
#include "bench/measure/command_line.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/progress.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kFilesMax = 10'000'000;

void ShortenRun(ColdOptions& options) {
  options.files = 10'000;
  options.repetitions = 3;
}

int Main(int argc, char** argv) {
  ColdOptions options;
  CLI::App app(
      "Walks of a tree of files at depth 6 by a client that has seen none of it, over NFSv3 and "
      "NFSv4, against libnfs' synchronous calls and against the same calls without a client. All "
      "take turns.",
      "cold_walk");
  app.add_flag_callback(
      "--quick", [&] { ShortenRun(options); },
      "Fewer files and repetitions, where nothing else is said");
  app.add_option("--files", options.files, "Files of the tree, a hundred in a directory")
      ->check(CLI::Range(uint64_t{1}, kFilesMax))
      ->capture_default_str();
  app.add_option("--libnfs-one-in", options.libnfs_one_in,
                 "libnfs looks at one in so many files by path: it caches nothing")
      ->check(CLI::Range(uint64_t{1}, kFilesMax))
      ->capture_default_str();
  AddRunOptions(app, options);
  if (const auto exit_code = ExitCodeOfParsing(app, argc, argv)) return *exit_code;
  CatchInterrupts();
  return Finish("cold_walk", RunColdWalks(options));
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
