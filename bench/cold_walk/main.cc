// cold_walk: walks by a client that has seen nothing of the tree, or whose caches have expired.
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/cold_walk/cold_subjects.h"
#include "bench/measure/command_line.h"
#include "bench/measure/row.h"
#include "bench/measure/rpc_server.h"
#include "bench/measure/terminal.h"
#include "bench/measure/turns.h"
#include "fmt/format.h"
#include "tests/fixtures/delaying_proxy.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kFilesMax = 10'000'000;
constexpr std::string_view kBench = "cold_walk";
constexpr int kVersions[] = {3, 4};
constexpr uint16_t kNfsPort = 2049;

struct ColdOptions : RunOptions {
  ColdOptions() : RunOptions{.threads = {1, 4}, .repetitions = 5} {}

  uint64_t files = 100'000;
  uint64_t libnfs_one_in = 10;
};

// Our client in all its settings: version 3 has no COMPOUND to switch off, and a listing is not
// listed ahead.
std::vector<ColdSetting> SettingsOf(WalkKind kind) {
  if (kind == WalkKind::kExpired) {
    return {{.version = 3, .kind = kind},
            {.version = 4, .kind = kind},
            {.version = 3, .kind = kind, .list_ahead = false},
            {.version = 4, .kind = kind, .list_ahead = false}};
  }
  std::vector<ColdSetting> settings = {{.version = 3, .kind = kind},
                                       {.version = 4, .kind = kind},
                                       {.version = 4, .kind = kind, .compound = false}};
  if (kind == WalkKind::kPath) {
    settings.push_back({.version = 3, .kind = kind, .list_ahead = false});
    settings.push_back({.version = 4, .kind = kind, .list_ahead = false});
  }
  return settings;
}

struct Contender {
  std::string name;
  ColdSetting setting;
  ColdSubject subject;
  uint64_t files = 0;
  std::vector<double> rpcs = {};  // of each turn

  std::string Title() const {
    return fmt::format("{}, v{} {}, {} threads", name, setting.version, NameOf(setting.kind),
                       setting.threads);
  }
};

class ColdRun {
 public:
  ColdRun(const ColdOptions& options, const ColdPlace& place, RowWriter& rows)
      : options_(options), place_(place), rows_(rows) {}

  Outcome Run() {
    if (Outcome assembled = Assemble(); !assembled) return assembled;
    Turns turns(options_.repetitions);
    for (size_t i = 0; i < contenders_.size(); ++i) turns.AddRow();
    const Outcome taken =
        turns.Run([&](size_t i) { return TakeTurn(contenders_[i], turns.round()); });
    if (!taken) return taken;
    for (size_t i = 0; i < contenders_.size(); ++i) {
      if (turns.Complete(i)) WriteRow(contenders_[i], turns, i);
    }
    return {};
  }

 private:
  // The walks that are recorded for the ceilings warm the server up.
  Outcome Assemble() {
    for (const WalkKind kind : {WalkKind::kPath, WalkKind::kFind}) {
      for (const ColdSetting& setting : SettingsOf(kind)) {
        if (const Outcome added = AddWithRawCalls(setting); !added || Interrupted()) return added;
      }
      for (const int version : kVersions) {
        if (place_.memory_port == 0) break;
        const ColdSetting setting{.version = version, .kind = kind, .via = Via::kMemory};
        if (const Outcome added = AddWithRawCalls(setting); !added || Interrupted()) return added;
      }
      // A find lists all: there is nothing to look at one in so many of.
      const uint64_t one_in = kind == WalkKind::kPath ? options_.libnfs_one_in : 1;
      for (const int version : kVersions) {
        for (const size_t threads : options_.threads) {
          const ColdSetting setting{.version = version, .kind = kind, .threads = threads};
          AddContender("libnfs sync", setting, MakeLibnfsWalk(place_, setting, one_in), one_in);
        }
      }
    }
    for (ColdSetting setting : SettingsOf(WalkKind::kExpired)) {
      for (const size_t threads : options_.threads) {
        setting.threads = threads;
        AddContender("nfswalk", setting, MakeNfswalkWalk(place_, setting), 1);
      }
    }
    for (const ColdSetting& setting : SettingsOf(WalkKind::kDeep)) {
      AddContender("nfswalk", setting, MakeNfswalkWalk(place_, setting), 1);
    }
    for (const int version : kVersions) {
      if (const Outcome added = AddLarge({.version = version, .kind = WalkKind::kLarge}); !added) {
        return added;
      }
    }
    AddBatches(Via::kServer);
    for (const int version : kVersions) {
      const ColdSetting setting{.version = version, .kind = WalkKind::kChanges};
      AddContender("nfswalk", setting, MakeNfswalkChanges(place_, setting), 1);
      AddContender("raw calls", setting, MakeRawChanges(place_, setting), 1);
    }
    if (place_.distant_port == 0) return {};
    AddBatches(Via::kDistant);
    for (const WalkKind kind : {WalkKind::kPath, WalkKind::kExpired}) {
      for (const int version : kVersions) {
        const ColdSetting setting{.version = version, .kind = kind, .via = Via::kDistant};
        AddContender("nfswalk", setting, MakeNfswalkWalk(place_, setting), 1);
      }
    }
    return {};
  }

  // With listings instead of lookups where they are fewer, and without.
  void AddBatches(Via via) {
    for (const int version : kVersions) {
      for (const bool list_ahead : {true, false}) {
        const ColdSetting setting{
            .version = version, .kind = WalkKind::kBatch, .list_ahead = list_ahead, .via = via};
        AddContender("nfswalk", setting, MakeNfswalkWalk(place_, setting), 1);
      }
    }
  }

  // By one thread, and its calls without a client.
  Outcome AddLarge(const ColdSetting& setting) {
    if (Interrupted()) return {};
    auto record = RecordWalk(place_, setting);
    if (!record) return std::unexpected(std::move(record.error()));
    AddContender("nfswalk", setting, MakeNfswalkWalk(place_, setting), 1);
    AddContender("raw calls", setting, MakeRawCalls(place_, setting, std::move(*record)), 1);
    return {};
  }

  // A walk with each number of threads, and its calls without a client.
  Outcome AddWithRawCalls(ColdSetting setting) {
    ShowProgress("the calls of " + SubjectName("nfswalk", setting));
    auto record = RecordWalk(place_, setting);
    if (!record) return std::unexpected(std::move(record.error()));
    for (const size_t threads : options_.threads) {
      setting.threads = threads;
      AddContender("nfswalk", setting, MakeNfswalkWalk(place_, setting), 1);
    }
    setting.threads = 1;
    AddContender("raw calls", setting, MakeRawCalls(place_, setting, std::move(*record)), 1);
    return {};
  }

  void AddContender(std::string_view who, const ColdSetting& setting, ColdSubject subject,
                    uint64_t one_in) {
    contenders_.push_back({SubjectName(who, setting), setting, std::move(subject),
                           FilesOf(setting.kind, place_.tree, one_in)});
  }

  static std::expected<Turn, std::string> TakeTurn(Contender& contender, size_t round) {
    ShowProgress(fmt::format("{}, turn {}", contender.Title(), round + 1));
    const auto taken = contender.subject();
    if (!taken) return std::unexpected(contender.Title() + ": " + taken.error());
    if (!Interrupted()) contender.rpcs.push_back(static_cast<double>(taken->rpcs));
    return taken->turn;
  }

  void WriteRow(Contender& contender, const Turns& turns, size_t number) {
    Row row;
    row.Set("subject", contender.name)
        .Set("protocol", fmt::format("v{}", contender.setting.version))
        .Set("mode", NameOf(contender.setting.kind))
        .Set("threads", contender.setting.threads)
        .Set("files", contender.files)
        .Set("rpcs", std::llround(SpreadOf(contender.rpcs).median));
    AddTiming(row, turns, number, 1);
    // The proxy is a thread of this process.
    if (contender.setting.via != Via::kDistant) AddProcessorTime(row, turns, number);
    if (contender.setting.kind == WalkKind::kLarge) AddLongest(row, turns, number);
    rows_.Write(row);
  }

  static void AddLongest(Row& row, const Turns& turns, size_t number) {
    if (!turns.WhyDisturbed(number).empty()) return;
    const auto median_ns = [&](double Turn::* seconds) {
      return turns.Of(number, [=](const Turn& turn) { return turn.*seconds * 1e9; }).median;
    };
    row.Set("longest_ns", median_ns(&Turn::longest_s))
        .Set("p999_ns", median_ns(&Turn::p999_s))
        .Set("round_trip_ns", median_ns(&Turn::round_trip_s));
  }

  const ColdOptions& options_;
  const ColdPlace place_;
  RowWriter& rows_;
  std::vector<Contender> contenders_;
};

// Works in a new directory of the export and removes it again. A row has: subject, protocol ("v3"),
// mode, threads, files and rpcs of a walk (the median of all turns), and what AddTiming() and
// AddProcessorTime() say, where an operation is a file and its cost the time that passes; of the
// walk "large" longest_ns and p999_ns of a stat and round_trip_ns of a lone GETATTR, medians of the
// turns. After an interrupt it ends early with the rows that are complete.
Outcome RunColdWalks(const ColdOptions& options) {
  auto server = ServerExport::Open(options.server);
  if (!server) return std::unexpected(std::move(server.error()));
  auto rows = RowWriter::Open(kBench, options.json_file,
                              Row()
                                  .Set("server", (*server)->description())
                                  .Set("files", options.files)
                                  .Set("depth", ColdTree::kDepth)
                                  .Set("files_per_directory", ColdTree::kFilesPerDirectory)
                                  .Set("window", kRawWindow)
                                  .Set("libnfs_one_in", options.libnfs_one_in)
                                  .Set("repetitions", options.repetitions));
  if (!rows) return std::unexpected(std::move(rows.error()));
  const ColdTree tree(options.files);
  const std::string made = fmt::format("nfswalk-cold-walk-{}", getpid());
  ColdPlace place{**server, tree, made + ColdTree::kWalked, made + ColdTree::kLarge};
  std::optional<fixtures::DelayingProxy> proxy;
  std::expected<RpcServer, std::string> memory = std::unexpected("");
  if ((*server)->server_pid() != 0) {
    (*server)->InItsNetwork([&] {
      memory = RpcServer::Start(AnswersFromMemory(kNfsPort));
      proxy.emplace(kNfsPort, std::chrono::nanoseconds(kRoundTrip) / 2);
    });
    if (!memory) return std::unexpected(std::move(memory.error()));
    place.distant_port = proxy->port();
    place.memory_port = memory->port();
    place.memory_pid = memory->pid();
  }
  ShowProgress("making the tree");
  Outcome ran =
      (*server)->WithTree(tree.Build(), made, [&] { return ColdRun(options, place, *rows).Run(); });
  if (!ran) return ran;
  return rows->Close(Row().Set("interrupted", Interrupted()));
}

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
  return RunBenchmark(app, argc, argv, [&] { return RunColdWalks(options); });
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
