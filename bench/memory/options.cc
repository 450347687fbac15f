#include "bench/memory/options.h"

#include "bench/command_line.h"
#include "bench/memory/synthetic_tree.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kSmallestCache = 1000;
constexpr uint64_t kGrowthSizes[] = {100'000, 1'000'000};

void ShortenRun(MemoryOptions& options) {
  options.files_max = 1'000'000;
  options.repetitions = 3;
  options.turn_ms = 20;
}

}  // namespace

std::variant<MemoryOptions, int> ParseMemoryOptions(int argc, char** argv) {
  MemoryOptions options;
  CLI::App app(
      "What a cached file costs: bytes of memory, and how long a warm stat of the same few files "
      "takes as the cache around them grows. The tree is made up by a protocol without a server. "
      "One thread.",
      "memory");
  app.add_flag_callback(
      "--quick", [&] { ShortenRun(options); },
      "A smaller largest cache and shorter turns, where nothing else is said");
  app.add_option("--files-max", options.files_max, "Files of the largest cache")
      ->check(CLI::Range(kSmallestCache, SyntheticTree::kFilesMax))
      ->capture_default_str();
  app.add_option("--hot", options.hot_files,
                 "How many files are asked for again and again, one row each; they are the same in "
                 "every cache that holds as many")
      ->delimiter(',')
      ->check(CLI::Range(uint64_t{1}, SyntheticTree::kFilesMax))
      ->capture_default_str();
  AddTurnMs(app, options.turn_ms);
  AddRepetitions(app, options.repetitions);
  AddJsonFile(app, options.json_file);
  if (const auto exit_code = ExitCodeOfParsing(app, argc, argv)) return *exit_code;
  return options;
}

std::vector<uint64_t> CacheSizes(const MemoryOptions& options) {
  std::vector<uint64_t> sizes;
  for (uint64_t files = kSmallestCache; files < options.files_max; files *= 10) {
    sizes.push_back(files);
  }
  sizes.push_back(options.files_max);
  return sizes;
}

std::vector<uint64_t> GrowthSizes(const MemoryOptions& options) {
  std::vector<uint64_t> sizes;
  for (const uint64_t files : kGrowthSizes) {
    if (files <= options.files_max) sizes.push_back(files);
  }
  if (sizes.empty()) sizes.push_back(options.files_max);
  return sizes;
}

}  // namespace nfswalk::bench
