#include "bench/warm_stat/churn_rows.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/machine_share.h"
#include "bench/measure/subjects.h"
#include "bench/measure/terminal.h"
#include "bench/measure/turns.h"
#include "bench/measure/warm_turn.h"
#include "bench/warm_stat/churn.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint32_t kOrderSeed = 7;
constexpr uint64_t kFilesOfHotSet = 4000;
constexpr uint64_t kDirectoriesOfHotSets[] = {10, 500};
// Dentries of a full mount beside those of its hot set.
constexpr uint64_t kOtherDentries = 1024;
// A turn has to hold many changes, and the processor time of others comes in ticks of 10 ms.
constexpr double kTurnFactor = 5;

std::string TopOf(uint64_t directories) { return fmt::format("hot-{}", directories); }

// Returns paths of depth 8, shuffled so that most files follow one of another directory.
std::vector<std::string> PathsOf(uint64_t directories) {
  std::vector<std::string> paths;
  for (uint64_t file = 0; file < kFilesOfHotSet; ++file) {
    const uint64_t directory = file % directories;
    paths.push_back(fmt::format("{}/of/a/deep/tree/part{}/{}/file{}.c", TopOf(directories),
                                directory / 25, directory, file));
  }
  std::ranges::shuffle(paths, std::mt19937(kOrderSeed));
  return paths;
}

// A mount, and the files that are asked for in it.
struct HotSet {
  std::unique_ptr<Subject> subject;
  Client* client;  // the subject's
};

// Holds the totals of all turns, disturbed ones included.
struct Counts {
  uint64_t changes = 0, prefix_hits = 0, walks = 0;
  double seconds = 0;
};

class ChurnRun {
 public:
  ChurnRun(const ChurnOptions& options, ServerExport& server, RowWriter& rows)
      : options_(options),
        server_(server),
        rows_(rows),
        directory_(fmt::format("nfswalk-churn-{}", getpid())),
        turns_(options.repetitions) {}

  Outcome Run() {
    ShowProgress("making the tree to be changed");
    FileTree tree = EmptyTree();
    AddElsewhere(tree);
    for (const uint64_t directories : kDirectoriesOfHotSets) {
      for (const std::string& path : PathsOf(directories)) AddWithParents(tree, "/" + path, {});
    }
    return server_.WithTree(tree, directory_, [this] { return Measure(); });
  }

 private:
  struct Entry {
    ChurnKind kind;
    uint64_t directories;
    const WarmCalls& calls;
    HotSet hot;
    uint64_t scanned = 0;
    Counts counts = {};
  };

  Outcome Measure() {
    auto other = server_.Mount(server_.OptionsFor(directory_));
    if (!other) return std::unexpected(std::move(other.error()));
    for (const uint64_t directories : kDirectoriesOfHotSets) {
      calls_.push_back(std::make_unique<WarmCalls>(PathsOf(directories)));
      for (const ChurnKind kind : kChurnKinds) {
        if (Outcome made = MakeEntry(kind, directories); !made) return made;
      }
    }
    const Outcome taken = turns_.Run([&](size_t row) { return Take(entries_[row], **other); });
    if (!taken) return taken;
    for (size_t row = 0; row < entries_.size(); ++row) {
      if (turns_.Complete(row)) WriteRow(entries_[row], row);
    }
    return {};
  }

  // Each has a mount of its own, so that what the changes leave in one is not in the way of others.
  Outcome MakeEntry(ChurnKind kind, uint64_t directories) {
    MountOptions options = server_.OptionsFor(directory_);
    if (kind == ChurnKind::kEvictions) {
      options.dentries_max = kFilesOfHotSet + directories + kOtherDentries;
    }
    auto client = server_.Mount(options);
    if (!client) return std::unexpected(std::move(client.error()));
    Client* const raw = client->get();
    const WarmCalls& calls = *calls_.back();
    entries_.push_back(
        {kind, directories, calls, {MakeNfswalkSubject(std::move(*client), "rcu-search"), raw}});
    turns_.AddRow();
    if (kind == ChurnKind::kEvictions) {
      entries_.back().scanned = kOtherDentries;
      if (const std::errc error = Scan(*raw, kOtherDentries); error != std::errc{}) {
        return std::unexpected(
            fmt::format("a search elsewhere failed: {}", std::make_error_code(error).message()));
      }
    }
    return AskEachOnce(*entries_.back().hot.subject, calls.calls(), 1);
  }

  std::expected<Turn, std::string> Take(Entry& entry, Client& other) {
    ShowProgress(fmt::format("churn of {}, {} directories: turn {}", ChurnName(entry.kind),
                             entry.directories, turns_.round() + 1));
    const Stats before = entry.hot.client->stats();
    const MachineShare machine(server_.server_pid());
    const auto begin = std::chrono::steady_clock::now();
    Churn churn(entry.kind, *entry.hot.client, other, options_.changes_per_s,
                entry.scanned + entry.counts.changes);
    auto turn = TakeWarmTurn(*entry.hot.subject, entry.calls.calls(), 0, 1,
                             kTurnFactor * static_cast<double>(options_.turn_ms) / 1000);
    if (Outcome stopped = churn.Stop(); !stopped) return std::unexpected(stopped.error());
    const Stats after = entry.hot.client->stats();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    entry.counts.changes += churn.changes();
    entry.counts.seconds += took.count();
    entry.counts.prefix_hits += after.path_hits - before.path_hits;
    entry.counts.walks += after.rcu_walks + after.ref_walks - before.rcu_walks - before.ref_walks;
    if (!turn) return turn;
    // The server and the changes take processors, too: only the processor time of the thread
    // counts.
    turn->seconds *= turn->share;
    turn->share = machine.Share();
    return turn;
  }

  void WriteRow(const Entry& entry, size_t number) {
    const Counts& counts = entry.counts;
    Row row;
    row.Set("churn", ChurnName(entry.kind))
        .Set("directories", entry.directories)
        .Set("changes_per_s", static_cast<double>(counts.changes) / counts.seconds)
        .Set("prefix_hits",
             static_cast<double>(counts.prefix_hits) / static_cast<double>(counts.walks));
    AddTiming(row, turns_, number, 1);
    rows_.Write(row);
  }

  const ChurnOptions& options_;
  ServerExport& server_;
  RowWriter& rows_;
  const std::string directory_;
  Turns turns_;
  std::vector<std::unique_ptr<WarmCalls>> calls_;
  std::vector<Entry> entries_;
};

}  // namespace

Outcome MeasureChurn(const ChurnOptions& options, ServerExport& server, RowWriter& rows) {
  return ChurnRun(options, server, rows).Run();
}

}  // namespace nfswalk::bench
