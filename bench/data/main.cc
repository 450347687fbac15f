// data: files written, read, created and copied, by nfswalk and by others.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/data/contender.h"
#include "bench/measure/command_line.h"
#include "bench/measure/row.h"
#include "bench/measure/terminal.h"
#include "bench/measure/turns.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "tests/fixtures/delaying_proxy.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kBench = "data";
constexpr uint16_t kNfsPort = 2049;
const std::vector<std::string> kAllWorks = {"write", "read",     "random",  "create", "cat",
                                            "cp to", "cp from",  "find",    "du",     "chmod -R",
                                            "rm -r", "stat",     "stream"};

struct DataOptions : RunOptions {
  DataOptions() : RunOptions{.threads = {}, .repetitions = 5} {}

  DataSizes sizes;
  std::vector<std::string> works = kAllWorks;
  std::vector<std::string> subjects = {};  // empty: all
  std::string program = {};
  std::string baseline = {};  // empty: none
};

// Holds the counts of all turns of a contender, disturbed ones included.
struct Counts {
  std::vector<double> rpcs_per_op;
  uint64_t growth_bytes = 0, limit_bytes = 0;  // the most
};

double Mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void WriteRow(RowWriter& rows, const Contender& contender, const Turns& turns, size_t number,
              const Counts& counts) {
  Row row;
  row.Set("work", contender.work)
      .Set("protocol", contender.version == 0 ? "-" : fmt::format("v{}", contender.version))
      .Set("subject", contender.subject)
      .Set("files", contender.files)
      .Set("in_flight", contender.in_flight)
      .Set("round_trip_ms", contender.distant ? kRoundTrip.count() : 0);
  AddTiming(row, turns, number, 1);
  // The proxy is a thread of this process.
  if (!contender.distant) AddProcessorTime(row, turns, number);
  if (!counts.rpcs_per_op.empty()) row.Set("rpcs_per_op", SpreadOf(counts.rpcs_per_op).median);
  if (counts.limit_bytes > 0) {
    row.Set("readers", contender.readers)
        .Set("rss_mebibytes", Mebibytes(counts.growth_bytes))
        .Set("limit_mebibytes", Mebibytes(counts.limit_bytes));
  }
  rows.Write(row);
}

Outcome TakeTurns(const DataOptions& options, std::vector<Contender> contenders, RowWriter& rows) {
  std::erase_if(contenders, [&](const Contender& contender) {
    const auto lacks = [](const std::vector<std::string>& list, const std::string& name) {
      return std::ranges::find(list, name) == list.end();
    };
    return lacks(options.works, contender.work) ||
           (!options.subjects.empty() && lacks(options.subjects, contender.subject));
  });
  if (contenders.empty()) {
    return std::unexpected(fmt::format("no row has one of the works {} and of the subjects {}",
                                       fmt::join(options.works, ","),
                                       fmt::join(options.subjects, ",")));
  }
  Turns turns(options.repetitions);
  for (size_t i = 0; i < contenders.size(); ++i) turns.AddRow();
  std::vector<Counts> counts(contenders.size());
  const Outcome taken = turns.Run([&](size_t i) -> std::expected<Turn, std::string> {
    const Contender& contender = contenders[i];
    const std::string title =
        fmt::format("{}, v{}, {}", contender.work, contender.version, contender.subject);
    ShowProgress(fmt::format("{}, turn {}", title, turns.round() + 1));
    const auto turn = contender.take();
    if (!turn) return std::unexpected(title + ": " + turn.error());
    if (Interrupted()) return turn->turn;
    if (turn->rpcs > 0) {
      counts[i].rpcs_per_op.push_back(static_cast<double>(turn->rpcs) /
                                      static_cast<double>(turn->turn.ops));
    }
    counts[i].growth_bytes = std::max(counts[i].growth_bytes, turn->growth_bytes);
    counts[i].limit_bytes = std::max(counts[i].limit_bytes, turn->limit_bytes);
    return turn->turn;
  });
  if (!taken) return taken;
  for (size_t i = 0; i < contenders.size(); ++i) {
    if (turns.Complete(i)) WriteRow(rows, contenders[i], turns, i, counts[i]);
  }
  return {};
}

// A row has: work, protocol ("v3"; "-": none), subject, files, in_flight, round_trip_ms, what
// AddTiming() and AddProcessorTime() say, where an operation is a MiB ("write", "read", "cat",
// "stream"), a call ("random", "stat") or a file (of what is created, or of a tree), rpcs_per_op
// where they are counted: of commands in a run of their own; and of "stream" readers, rss_mebibytes
// (by how much the process grew at most) and limit_mebibytes (of what may be dirty).
Outcome Measure(const DataOptions& options, const DataPlace& place) {
  auto rows = RowWriter::Open(kBench, options.json_file,
                              Row()
                                  .Set("server", place.server.description())
                                  .Set("mebibytes", place.sizes.mebibytes)
                                  .Set("random_reads", place.sizes.random_reads)
                                  .Set("small_files", place.sizes.small_files)
                                  .Set("names", place.sizes.names)
                                  .Set("tree_files", place.sizes.tree_files)
                                  .Set("repetitions", options.repetitions));
  if (!rows) return std::unexpected(std::move(rows.error()));
  ShowProgress("making the files");
  Outcome outcome = MakeTransferred(place);
  if (outcome) outcome = MakeNames(place);
  if (outcome && !place.scratch.empty()) outcome = MakeCopied(place);
  if (!outcome || Interrupted()) return outcome;
  std::vector<Contender> all;
  const auto add = [&all](std::vector<Contender> some) {
    all.insert(all.end(), std::move_iterator(some.begin()), std::move_iterator(some.end()));
  };
  add(Transfers(place));
  add(SmallFiles(place));
  if (!place.scratch.empty()) {
    add(Commands(place));
    add(Trees(place));
  }
  add(BatchStats(place));
  add(Streams(place));
  outcome = TakeTurns(options, std::move(all), *rows);
  if (!outcome) return outcome;
  return rows->Close(Row().Set("interrupted", Interrupted()));
}

// As Bazel builds it beside this program.
std::string BuiltProgram() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "../../nfsclient/cli/nfswalk").lexically_normal();
}

Outcome RunData(const DataOptions& options) {
  auto server = ServerExport::Open(options.server);
  if (!server) return std::unexpected(std::move(server.error()));
  DataPlace place{.server = **server,
                  .sizes = options.sizes,
                  .directory = fmt::format("nfswalk-data-{}", getpid())};
  place.programs.push_back(
      {"nfswalk", options.program.empty() ? BuiltProgram() : options.program});
  if (!options.baseline.empty()) place.programs.push_back({"baseline", options.baseline});
  const std::string backing = (*server)->backing_directory();
  if (backing.empty()) {
    return (*server)->WithTree(EmptyTree(), place.directory,
                               [&] { return Measure(options, place); });
  }
  std::optional<fixtures::DelayingProxy> distant, counted;
  (*server)->InItsNetwork([&] {
    distant.emplace(kNfsPort, std::chrono::nanoseconds(kRoundTrip) / 2);
    counted.emplace(kNfsPort, std::chrono::nanoseconds(0));
  });
  place.distant = &*distant;
  place.counted = &*counted;
  const std::string scratch = place.directory + "-scratch";
  place.backing = backing + "/" + place.directory;
  place.scratch = backing + "/" + scratch;
  return (*server)->WithTree(EmptyTree(), scratch, [&] {
    return (*server)->WithTree(EmptyTree(), place.directory,
                               [&] { return Measure(options, place); });
  });
}

void ShortenRun(DataOptions& options) {
  options.sizes = {.mebibytes = 256,
                   .random_reads = 4'000,
                   .small_files = 2'000,
                   .names = 2'000,
                   .tree_files = 400};
  options.repetitions = 3;
}

void AddSizes(CLI::App& app, DataSizes& sizes) {
  const auto add = [&app](const char* name, uint64_t& size, const char* what, uint64_t least,
                          uint64_t most) {
    app.add_option(name, size, what)->check(CLI::Range(least, most))->capture_default_str();
  };
  add("--mebibytes", sizes.mebibytes, "Size of what is written and read, in whole fours", 4,
      100'000);
  add("--random-reads", sizes.random_reads, "Reads of a turn at random", 64, 10'000'000);
  add("--small-files", sizes.small_files, "Files that a turn creates", 1, 1'000'000);
  add("--names", sizes.names, "Files of which a turn wants the attributes", 1, 1'000'000);
  add("--tree-files", sizes.tree_files, "Files of the tree of the commands", 1, 1'000'000);
}

int Main(int argc, char** argv) {
  DataOptions options;
  CLI::App app(
      "Large files written, read, and read at random, small ones created, trees copied, and many "
      "names looked up at once: by nfswalk, by libnfs, by the same calls without a client, and by "
      "the kernel without NFS. All take turns.",
      "data");
  app.add_flag_callback(
      "--quick", [&] { ShortenRun(options); },
      "Smaller and fewer files and fewer repetitions, where nothing else is said");
  app.add_option("--works", options.works, "Only these")
      ->delimiter(',')
      ->check(CLI::IsMember(kAllWorks))
      ->capture_default_str();
  app.add_option("--subjects", options.subjects, "Only these, as rows name them [all]")
      ->delimiter(',');
  AddSizes(app, options.sizes);
  app.add_option("--nfswalk", options.program, "The command [the one built beside this program]");
  app.add_option("--baseline", options.baseline,
                 "Another build of the command, which takes turns beside it");
  AddRepetitions(app, options.repetitions);
  app.add_option("--server", options.server,
                 "Run on this nfs:// URL, in a new directory there as uid 0, without the commands "
                 "[an nfs-ganesha of our own]");
  AddJsonFile(app, options.json_file);
  return RunBenchmark(app, argc, argv, [&] { return RunData(options); });
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
