// shared_lines: see options.cc for what it does, or run it with --help.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "bench/shared_lines/options.h"
#include "bench/shared_lines/replay.h"
#include "bench/shared_lines/report.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr int kFailed = 1;

void PrintPlaces(const SharedLinesRow& row, size_t most) {
  const std::vector<Recorder::Place> places = Recorder::Places();
  if (most == 0 || places.empty()) return;
  fmt::print("\n{} {} with {} threads: addr2line -ifCe <this program>\n", row.workload, row.policy,
             row.threads);
  for (size_t i = 0; i < std::min(most, places.size()); ++i) {
    const auto& [code, accesses] = places[i];
    fmt::print("  {:#x}: {} writes, {} reads of {} visits\n", code, accesses.writes, accesses.reads,
               row.visits);
  }
}

int Run(const SharedLinesOptions& options) {
  std::vector<SharedLinesRow> rows;
  for (const Workload workload : options.workloads) {
    for (const icache::InodePolicy& policy : options.policies) {
      for (const size_t threads : options.threads) {
        const auto count = Replay({.policy = policy,
                                   .workload = workload,
                                   .threads = threads,
                                   .files_per_thread = options.files_per_thread,
                                   .buckets_per_file = options.buckets_per_file});
        if (!count) {
          fmt::print(stderr, "shared_lines: {}\n", count.error());
          return kFailed;
        }
        rows.push_back({.workload = std::string(WorkloadName(workload)),
                        .policy = icache::PolicyLabel(policy),
                        .threads = threads,
                        .visits = count->visits,
                        .lines = count->lines});
        PrintPlaces(rows.back(), options.places);
      }
    }
  }
  fmt::print("{}", SharedLinesTables(rows));
  if (options.json_file.empty()) return 0;
  std::ofstream file(options.json_file);
  file << SharedLinesJson(rows);
  file.close();
  if (file) return 0;
  fmt::print(stderr, "shared_lines: cannot write \"{}\"\n", options.json_file);
  return kFailed;
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) {
  const auto options = nfswalk::bench::ParseSharedLinesOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&options)) return *exit_code;
  return nfswalk::bench::Run(std::get<nfswalk::bench::SharedLinesOptions>(options));
}
