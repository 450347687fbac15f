// memory: see options.cc for what it does, or run it with --help.
#include <cstdio>
#include <string_view>
#include <variant>

#include "bench/console.h"
#include "bench/memory/memory_report.h"
#include "bench/memory/memory_run.h"
#include "bench/memory/options.h"
#include "bench/memory/room.h"
#include "bench/stop_on_signals.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr int kFailed = 1;

int Fail(std::string_view why) {
  fmt::print(stderr, "memory: {}\n", why);
  return kFailed;
}

int Run(const MemoryOptions& options, const std::atomic<bool>& stop) {
  const auto available_bytes = AvailableBytes();
  if (!available_bytes) return Fail(available_bytes.error());
  const std::string no_room = NoRoomFor(CacheSizes(options), *available_bytes);
  if (!no_room.empty()) return Fail(no_room);
  const auto rows = RunMemory(options, ShowProgress, stop);
  ShowProgress("");
  if (!rows) return Fail(rows.error());
  fmt::print("{}{}", MemoryTables(*rows), MemoryFigures(*rows));
  if (!options.json_file.empty()) {
    const std::string error = WriteTextFile(options.json_file, MemoryJson(*rows));
    if (!error.empty()) return Fail(error);
  }
  return stop.load() ? kExitInterrupted : 0;
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) {
  const auto options = nfswalk::bench::ParseMemoryOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&options)) return *exit_code;
  return nfswalk::bench::Run(std::get<nfswalk::bench::MemoryOptions>(options),
                             nfswalk::bench::StopOnSignals());
}
