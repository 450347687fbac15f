// memory: bytes of a cached file, and the cost of a warm stat as the cache grows.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/command_line.h"
#include "bench/measure/row.h"
#include "bench/measure/subjects.h"
#include "bench/measure/terminal.h"
#include "bench/measure/turns.h"
#include "bench/measure/warm_turn.h"
#include "bench/memory/cache_sizes.h"
#include "bench/memory/filled_client.h"
#include "bench/memory/growth.h"
#include "bench/memory/proc_bytes.h"
#include "bench/memory/synthetic_tree.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kSubject = "nfswalk";
constexpr uint32_t kOrderSeed = 6;
constexpr size_t kGrowthRepetitionsMax = 3;  // they hardly differ

struct MemoryOptions {
  uint64_t files_max = 10'000'000;
  std::vector<uint64_t> hot_files = {1000, 4096};
  size_t repetitions = 7;
  uint64_t turn_ms = 60;
  std::string json_file = {};  // empty: stdout
};

std::string NamesText(bool long_names) {
  if (!long_names) return "10 to 14 bytes";
  return fmt::format("10 to 14 bytes, 1 in {} of {}", SyntheticTree::kOneLongIn,
                     SyntheticTree::kLongNameBytes);
}

Outcome MeasureBytes(const MemoryOptions& options, bool long_names, uint64_t files,
                     RowWriter& rows) {
  std::vector<double> bytes_per_file;
  const size_t repetitions = std::min(options.repetitions, kGrowthRepetitionsMax);
  for (size_t repetition = 0; repetition < repetitions; ++repetition) {
    ShowProgress(fmt::format("{} of {}: a process that caches {} files", repetition + 1,
                             repetitions, files));
    const auto growth = ResidentGrowth(SyntheticTree(files, long_names));
    if (Interrupted()) return {};
    if (!growth) return std::unexpected(growth.error());
    bytes_per_file.push_back(static_cast<double>(*growth) / static_cast<double>(files));
  }
  const Spread bytes = SpreadOf(std::move(bytes_per_file));
  rows.Write(Row()
                 .Set("kind", "bytes")
                 .Set("subject", kSubject)
                 .Set("names", NamesText(long_names))
                 .Set("files", files)
                 .Set("bytes_per_file", bytes.median)
                 .Set("bytes_min", bytes.least)
                 .Set("bytes_max", bytes.most));
  return {};
}

// Calls of the first `files` of every tree that holds as many, in an order that no prefetcher
// guesses.
std::unique_ptr<WarmCalls> HotCalls(uint64_t files) {
  const SyntheticTree tree(files, true);
  std::vector<std::string> paths;
  for (uint64_t file = 0; file < files; ++file) paths.push_back(tree.PathOfFile(file));
  std::mt19937 order(kOrderSeed);
  std::ranges::shuffle(paths, order);
  return std::make_unique<WarmCalls>(paths);
}

class CostRun {
 public:
  CostRun(const MemoryOptions& options, RowWriter& rows)
      : options_(options), rows_(rows), turns_(options.repetitions) {}

  Outcome Run() {
    if (Outcome made = MakeCaches(); !made) return made;
    MakeEntries();
    auto take = [this](size_t i) { return TakeTurn(entries_[i]); };
    if (Outcome taken = turns_.Run(take); !taken) return taken;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (turns_.Complete(i)) WriteRow(i);
    }
    return {};
  }

 private:
  struct Cache {
    uint64_t files;
    std::unique_ptr<Subject> subject;
  };
  struct Entry {
    uint64_t hot;
    const WarmCalls& calls;
    Cache& cache;
  };

  Outcome MakeCaches() {
    for (const uint64_t files : CacheSizes(options_.files_max)) {
      if (Interrupted()) return {};
      ShowProgress(fmt::format("filling a cache of {} files", files));
      const SyntheticTree tree(files, true);
      auto client = MountSynthetic(tree);
      if (!client) return std::unexpected(std::move(client.error()));
      if (Outcome filled = Fill(**client, tree); !filled) return filled;
      caches_.push_back(
          {.files = files,
           .subject = MakeNfswalkSubject(std::move(*client), WalkModeName(WalkMode::kRcuSearch),
                                         {kMemoryCredential})});
    }
    return {};
  }

  // Each hot set in each cache that holds it.
  void MakeEntries() {
    for (const uint64_t hot : options_.hot_files) {
      if (hot > options_.files_max) continue;
      calls_.push_back(HotCalls(hot));
      for (Cache& cache : caches_) {
        if (cache.files < hot) continue;
        turns_.AddRow();
        entries_.push_back({hot, *calls_.back(), cache});
      }
    }
  }

  std::expected<Turn, std::string> TakeTurn(const Entry& entry) const {
    const auto& [hot, calls, cache] = entry;
    ShowProgress(
        fmt::format("turn {}: {} hot files among {}", turns_.round() + 1, hot, cache.files));
    const uint64_t rpcs_before = cache.subject->stats().rpcs;
    const auto turn = TakeWarmTurn(*cache.subject, calls.calls(), 0, 1,
                                   static_cast<double>(options_.turn_ms) / 1000);
    if (!turn || cache.subject->stats().rpcs == rpcs_before) return turn;
    return std::unexpected(
        fmt::format("a warm stat in a cache of {} files sent an RPC", cache.files));
  }

  void WriteRow(size_t number) {
    const Entry& entry = entries_[number];
    Row row;
    row.Set("kind", "cost")
        .Set("subject", kSubject)
        .Set("mode", entry.cache.subject->mode())
        .Set("entries", entry.cache.files)
        .Set("hot", entry.hot);
    AddTiming(row, turns_, number, 1);
    rows_.Write(row);
  }

  const MemoryOptions& options_;
  RowWriter& rows_;
  Turns turns_;
  std::vector<Cache> caches_;
  std::vector<std::unique_ptr<WarmCalls>> calls_;
  std::vector<Entry> entries_;
};

// Rows of two kinds: "bytes", with names, files, bytes_per_file, bytes_min, bytes_max; and "cost",
// of a warm stat of `hot` files in a cache of `entries`, with what AddTiming() says. An answer that
// is not the tree's is an error, and so is a warm stat that sent an RPC. After an interrupt it ends
// early with the rows so far. Preconditions: the calling process has one thread.
Outcome RunMemory(const MemoryOptions& options) {
  const auto available_bytes = ProcBytes("/proc/meminfo", "MemAvailable:");
  if (!available_bytes) return std::unexpected(available_bytes.error());
  const Outcome fits = CheckMemoryFor(CacheSizes(options.files_max), *available_bytes);
  if (!fits) return fits;
  auto rows = RowWriter::Open("memory", options.json_file,
                              Row()
                                  .Set("files_max", options.files_max)
                                  .Set("repetitions", options.repetitions)
                                  .Set("turn_ms", options.turn_ms));
  if (!rows) return std::unexpected(std::move(rows.error()));
  for (const bool long_names : {false, true}) {
    for (const uint64_t files : GrowthSizes(options.files_max)) {
      Outcome measured = MeasureBytes(options, long_names, files, *rows);
      if (!measured) return measured;
    }
  }
  if (Outcome ran = CostRun(options, *rows).Run(); !ran) return ran;
  return rows->Close(Row().Set("interrupted", Interrupted()));
}

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
  return RunBenchmark(app, argc, argv, [&] { return RunMemory(options); });
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
