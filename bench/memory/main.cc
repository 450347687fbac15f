// memory: bytes of a cached file, and the cost of a warm stat as the cache grows.
#include "bench/measure/command_line.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/progress.h"
#include "bench/memory/cache_sizes.h"
#include "bench/memory/memory_run.h"
#include "bench/memory/synthetic_tree.h"

namespace nfswalk::bench {
namespace {

void ShortenRun(MemoryOptions& options) {
  options.files_max = 1'000'000;
  options.repetitions = 3;
  options.turn_ms = 20;
}

int Main(int argc, char** argv) {
  MemoryOptions options;
  CLI::App app(
      "What a cached file costs: bytes of memory, and how long a warm stat of the same few files "
      "takes as the cache around them grows. A protocol without a server makes up the tree. One "
      "thread.",
      "memory");
  app.add_flag_callback(
      "--quick", [&] { ShortenRun(options); },
      "A smaller largest cache and shorter turns, where nothing else is said");
  app.add_option("--files-max", options.files_max, "Files of the largest cache")
      ->check(CLI::Range(kSmallestCache, SyntheticTree::kFilesMax))
      ->capture_default_str();
  app.add_option("--hot", options.hot_files,
                 "Files that are asked for again and again, one row each; the same ones in every "
                 "cache that holds as many")
      ->delimiter(',')
      ->check(CLI::Range(uint64_t{1}, SyntheticTree::kFilesMax))
      ->capture_default_str();
  AddTurnMs(app, options.turn_ms);
  AddRepetitions(app, options.repetitions);
  AddJsonFile(app, options.json_file);
  if (const auto exit_code = ExitCodeOfParsing(app, argc, argv)) return *exit_code;
  CatchInterrupts();
  return Finish("memory", RunMemory(options));
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
