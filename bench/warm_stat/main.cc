// warm_stat: stat of cached files, by depth, pattern, threads and identities, and beside changes
// elsewhere; and open.
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bench/measure/command_line.h"
#include "bench/measure/row.h"
#include "bench/measure/server_export.h"
#include "bench/measure/subjects.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "bench/measure/turns.h"
#include "bench/measure/warm_turn.h"
#include "bench/warm_stat/churn_rows.h"
#include "bench/warm_stat/warm_tree.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kFilesMax = 3'000'000;  // well below a mount's limit of dentries
constexpr uint64_t kChurnMax = 100'000;

struct WarmOptions : RunOptions {
  WarmOptions() : RunOptions{.threads = {1, 2, 4}, .repetitions = 7} {}

  uint64_t files = 1'000'000;  // of the large tree
  uint64_t turn_ms = 60;
  uint64_t churn = 1000;  // changes a second
  std::vector<std::string> libraries;
};

struct Setting {
  std::string_view name;
  WalkMode mode;
  bool path_cache = true;
};
constexpr std::string_view kBest = "rcu-search";
constexpr std::string_view kNoPathCache = "nopathcache";
constexpr Setting kSettings[] = {{"ref", WalkMode::kRef},
                                 {"rcu-locked", WalkMode::kRcuLocked},
                                 {"rcu-peek", WalkMode::kRcuPeek},
                                 {kNoPathCache, WalkMode::kRcuSearch, false},
                                 {kBest, WalkMode::kRcuSearch}};
// uid 0 owns everything, and everybody may search and read.
const std::vector<Credential> kFourIdentities = {{0, 0}, {1000, 1000}, {1001, 1001}, {1002, 1000}};
constexpr Course kCourseOfFour{Pattern::kDistinct, 8};

// The turns over the large tree are longer: each thread has ten thousand directories to learn
// before its clock starts. So are those of threads that wait, whose share is read from a clock of
// 10 ms.
constexpr double kLargeTreeTurnFactor = 10;
constexpr double kWaitingTurnFactor = 3;

struct Contender {
  std::unique_ptr<Subject> subject;
  size_t identities = 1;

  bool is_map() const { return subject->subject() == "map"; }

  bool Takes(Course course) const {
    // They share the directories on the way.
    if (identities > 1) return course == kCourseOfFour;
    if (course.pattern == Pattern::kOpen) return !is_map() && subject->subject() != "library";
    if (course.pattern == Pattern::kLinks) return !is_map();
    const bool beside_map = course.files != 0 || course.pattern == Pattern::kInOrder;
    return is_map() || !beside_map || subject->mode() == kBest || subject->mode() == kNoPathCache;
  }

  double SecondsOfTurn(Course course, uint64_t turn_ms) const {
    const double factor = !subject->caches()       ? kWaitingTurnFactor
                          : course.of_large_tree() ? kLargeTreeTurnFactor
                                                   : 1;
    return factor * static_cast<double>(turn_ms) / 1000;
  }
};

class WarmRun {
 public:
  WarmRun(const WarmOptions& options, ServerExport& server, RowWriter& rows)
      : options_(options),
        server_(server),
        rows_(rows),
        directory_(fmt::format("nfswalk-warm-stat-{}", getpid())) {}

  Outcome Run() {
    ShowProgress("making the tree");
    const FileTree files = tree_.Build();
    return server_.WithTree(files, directory_, [&]() -> Outcome {
      if (Outcome made = MakeContenders(files); !made) return made;
      for (const Course course : tree_.Courses()) {
        if (Outcome taken = Take(course); !taken) return taken;
      }
      return {};
    });
  }

 private:
  struct Entry {
    const Contender& contender;
    size_t threads;
  };

  Outcome MakeContenders(const FileTree& files) {
    for (const auto& identities : {std::vector<Credential>{{0, 0}}, kFourIdentities}) {
      for (const auto& [name, mode, path_cache] : kSettings) {
        MountOptions options = server_.OptionsFor(directory_);
        options.walk = mode;
        options.path_cache = path_cache;
        options.nocto = true;
        auto client = server_.Mount(options);
        if (!client) return std::unexpected(std::move(client.error()));
        contenders_.push_back(
            {MakeNfswalkSubject(std::move(*client), name, identities), identities.size()});
      }
    }
    for (const std::string& file : options_.libraries) {
      auto library = MakeLibrarySubject(file, directory_, server_);
      if (!library) return std::unexpected(std::move(library.error()));
      contenders_.push_back({std::move(*library)});
    }
    contenders_.push_back({MakeMapSubject({})});
    ShowProgress("making the kernel's tree");
    auto kernel = MakeKernelSubject(files);
    if (kernel) contenders_.push_back({std::move(*kernel)});
    if (!kernel) Warn("warm_stat", "left out: kernel, tmpfs: " + kernel.error());
    contenders_.push_back({MakeLibnfsSubject(server_.UrlOf(directory_), server_)});
    return {};
  }

  Outcome Take(Course course) {
    const CallKind kind = course.pattern == Pattern::kOpen ? CallKind::kOpen : CallKind::kStat;
    const WarmCalls calls(tree_.PathsOf(course), WarmTree::ErrorOf(course), kind);
    for (Contender& each : contenders_) {
      if (each.is_map()) each.subject = MakeMapSubject(calls.calls());
    }
    if (Outcome filled = FillCaches(course, calls); !filled) return filled;
    Turns turns(options_.repetitions);
    std::vector<Entry> entries;
    for (const size_t threads : options_.threads) {
      for (const Contender& contender : contenders_) {
        if (!contender.Takes(course)) continue;
        turns.AddRow();
        entries.push_back({contender, threads});
      }
    }
    const Outcome taken = turns.Run([&](size_t i) {
      const auto& [contender, threads] = entries[i];
      Show(course, contender, fmt::format("{} threads, turn {}", threads, turns.round() + 1));
      // Starts each round at another call, so that with many files it asks for others. All
      // subjects of a round start at the same call.
      const size_t round = turns.round() % options_.repetitions;
      const size_t start = calls.calls().size() * round / options_.repetitions;
      return TakeWarmTurn(*contender.subject, calls.calls(), start, threads,
                          contender.SecondsOfTurn(course, options_.turn_ms));
    });
    if (!taken) return taken;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (turns.Complete(i)) WriteRow(course, entries[i], turns, i);
    }
    return {};
  }

  Outcome FillCaches(Course course, const WarmCalls& calls) const {
    for (const Contender& each : contenders_) {
      if (!each.Takes(course) || !each.subject->caches()) continue;
      Show(course, each, "first pass");
      Outcome asked = AskEachOnce(*each.subject, calls.calls(), each.identities);
      if (!asked) return asked;
    }
    return {};
  }

  static void Show(Course course, const Contender& contender, std::string_view what) {
    ShowProgress(fmt::format("{}, depth {}: {}, {}", course.Name(), course.depth,
                             contender.subject->title(), what));
  }

  void WriteRow(Course course, const Entry& entry, const Turns& turns, size_t number) {
    Row row;
    row.Set("subject", entry.contender.subject->subject())
        .Set("mode", entry.contender.subject->mode())
        .Set("pattern", course.Name())
        .Set("depth", course.depth)
        .Set("threads", entry.threads)
        .Set("identities", entry.contender.identities);
    AddTiming(row, turns, number, static_cast<double>(UsableProcessors(entry.threads)));
    rows_.Write(row);
  }

  const WarmOptions& options_;
  ServerExport& server_;
  RowWriter& rows_;
  const std::string directory_;
  const WarmTree tree_{options_.files};
  std::vector<Contender> contenders_;
};

// Works in a new directory of the export and removes it again. A row has: subject, mode, pattern,
// depth, threads, identities, and what AddTiming() says; then come those of MeasureChurn(). An
// answer that is not the tree's is an error. After an interrupt it ends early with the rows so far.
Outcome RunWarmStat(const WarmOptions& options) {
  auto server = ServerExport::Open(options.server);
  if (!server) return std::unexpected(std::move(server.error()));
  auto rows = RowWriter::Open("warm_stat", options.json_file,
                              Row()
                                  .Set("server", (*server)->description())
                                  .Set("repetitions", options.repetitions)
                                  .Set("turn_ms", options.turn_ms)
                                  .Set("files", options.files));
  if (!rows) return std::unexpected(std::move(rows.error()));
  if (Outcome ran = WarmRun(options, **server, *rows).Run(); !ran) return ran;
  if (!Interrupted()) {
    const Outcome ran =
        MeasureChurn({options.churn, options.repetitions, options.turn_ms}, **server, *rows);
    if (!ran) return ran;
  }
  return rows->Close(Row().Set("interrupted", Interrupted()));
}

void ShortenRun(WarmOptions& options) {
  options.files = 100'000;
  options.repetitions = 3;
  options.turn_ms = 20;
}

int Main(int argc, char** argv) {
  WarmOptions options;
  CLI::App app(
      "stat, and open with close, of files that are cached: nfswalk in every walk mode and with "
      "nopathcache, the kernel on a tmpfs with the same tree, a hash map by path, and libnfs. All "
      "take turns.",
      "warm_stat");
  app.add_flag_callback(
      "--quick", [&] { ShortenRun(options); },
      "Fewer files and repetitions, shorter turns, where nothing else is said");
  app.add_option("--files", options.files, "Files of the patterns \"random\" and \"in-order\"")
      ->check(CLI::Range(uint64_t{1}, kFilesMax))
      ->capture_default_str();
  app.add_option("--library", options.libraries,
                 "Beside these libnfswalk.so of other builds, as many as are named");
  app.add_option("--churn", options.churn,
                 "Changes a second elsewhere in the mount, in the rows beside changes")
      ->check(CLI::Range(uint64_t{1}, kChurnMax))
      ->capture_default_str();
  AddTurnMs(app, options.turn_ms);
  AddRunOptions(app, options);
  return RunBenchmark(app, argc, argv, [&] { return RunWarmStat(options); });
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
