// make_replay: the file system calls of a recorded make, asked again.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/make_replay/plan.h"
#include "bench/make_replay/replay.h"
#include "bench/measure/command_line.h"
#include "bench/measure/row.h"
#include "bench/measure/server_export.h"
#include "bench/measure/subjects.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "bench/measure/turns.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kBench = "make_replay";
constexpr uint64_t kMismatchesShown = 20;
// A first pass cannot be repeated by the same client, so a row is one pass by a new one.
constexpr size_t kColdPasses = 1;

struct ReplayOptions : RunOptions {
  ReplayOptions() : RunOptions{.threads = {1, 2, 4, 8}, .repetitions = 5} {}

  std::vector<std::string> plans;
  // Walk modes of nfswalk, each mounted beside the others; "kernel": the system calls on a tmpfs;
  // "libnfs": its synchronous calls, in the first pass only.
  std::vector<std::string> modes = {"ref",        "rcu-locked", "rcu-peek",
                                    "rcu-search", "kernel",     "libnfs"};
  uint64_t turn_ms = 500;
  size_t libnfs_one_in = 10;
  uint64_t kill_server_after = 0;  // calls, 0: never
};

using MadeSubject = std::expected<std::unique_ptr<Subject>, std::string>;

enum class Phase : uint8_t { kCold, kWarm };
constexpr std::string_view NameOf(Phase phase) { return phase == Phase::kCold ? "cold" : "warm"; }

struct Contender {
  std::function<MadeSubject()> make;
  bool is_nfswalk;                        // its answers are the verdict
  std::unique_ptr<Subject> subject = {};  // after the cold phase its caches are warm
  uint64_t mismatches_shown = 0;

  Outcome Make() {
    auto made = make();
    if (!made) return std::unexpected(std::move(made.error()));
    subject = std::move(*made);
    return {};
  }
};

// What the turns of a row counted, disturbed or not; the latencies are of undisturbed ones.
struct Tally {
  uint64_t ops = 0;
  uint64_t mismatches = 0;
  uint64_t rpcs = 0;
  uint64_t peek_hits = 0;
  std::array<uint64_t, kNeedRefCount> need_ref{};
  std::vector<uint32_t> latencies_ns = {};

  void Add(const PassResult& pass, const Stats& before, const Stats& after) {
    ops += pass.compared;
    mismatches += pass.mismatches;
    rpcs += after.rpcs - before.rpcs;
    peek_hits += after.peek_hits - before.peek_hits;
    for (size_t i = 0; i < kNeedRefCount; ++i)
      need_ref[i] += after.need_ref[i] - before.need_ref[i];
    if (pass.turn.share < kShareMin) return;
    latencies_ns.insert(latencies_ns.end(), pass.latencies_ns.begin(), pass.latencies_ns.end());
  }

  // Preconditions: there are latencies. Reorders them.
  uint32_t Percentile(size_t percent) {
    const auto rank =
        latencies_ns.begin() + static_cast<ptrdiff_t>((latencies_ns.size() - 1) * percent / 100);
    std::ranges::nth_element(latencies_ns, rank);
    return *rank;
  }
};

struct Entry {
  Contender* contender;
  size_t threads;
  Tally tally = {};
};

class ReplayRun {
 public:
  ReplayRun(const ReplayOptions& options, ServerExport& server, RowWriter& rows)
      : options_(options), server_(server), rows_(rows) {}

  Outcome Run() {
    for (const std::string& file : options_.plans) {
      if (Interrupted()) break;
      if (Outcome done = RunPlan(file); !done) return done;
    }
    const Row totals = Row()
                           .Set("compared", compared_)
                           .Set("differ", mismatches_)
                           .Set("others_differ", others_mismatches_);
    if (Outcome closed = rows_.Close(totals); !closed) return closed;
    if (mismatches_ == 0) return {};
    return std::unexpected(fmt::format("compared {} answers: {} differ", compared_, mismatches_));
  }

 private:
  Outcome RunPlan(const std::string& file) {
    ShowProgress(file);
    auto plan = LoadPlan(file, server_.special_files());
    if (!plan) return std::unexpected(std::move(plan.error()));
    rows_.Write(Row().Set("trace", plan->trace).SetJson("coverage", plan->coverage));
    // Two plans of one name, or two runs against one server, must not meet.
    const std::string directory = fmt::format("nfswalk-make-replay-{}-{}", getpid(), plans_run_++);
    ShowProgress(plan->trace + ": making the tree");
    return server_.WithTree(plan->tree, directory, [&]() -> Outcome {
      std::vector<Contender> contenders;
      for (const std::string& mode : options_.modes) {
        Contender contender{.make = MakerOf(mode, *plan, directory),
                            .is_nfswalk = ParseWalkMode(mode).has_value()};
        if (Outcome made = contender.Make(); made) {
          contenders.push_back(std::move(contender));
        } else if (mode == "kernel") {
          Warn(kBench, "left out: " + made.error());
        } else {
          return made;
        }
      }
      if (Outcome done = Replay(Phase::kCold, contenders, *plan); !done) return done;
      return Replay(Phase::kWarm, contenders, *plan);
    });
  }

  std::function<MadeSubject()> MakerOf(const std::string& mode, const ReplayPlan& plan,
                                       const std::string& directory) {
    if (mode == "kernel") return [&plan] { return MakeKernelSubject(plan.tree); };
    if (mode == "libnfs") {
      return [this, &directory] { return MakeLibnfsSubject(server_.UrlOf(directory), server_); };
    }
    return [this, &mode, &directory]() -> MadeSubject {
      MountOptions options = server_.OptionsFor(directory);
      options.walk = *ParseWalkMode(mode);
      auto client = server_.Mount(options);
      if (!client) return std::unexpected(std::move(client.error()));
      return MakeNfswalkSubject(std::move(*client), mode);
    };
  }

  Outcome Replay(Phase phase, std::vector<Contender>& contenders, const ReplayPlan& plan) {
    std::vector<Entry> entries;
    if (phase == Phase::kCold) {
      for (Contender& each : contenders) {
        entries.push_back({&each, each.subject->caches() ? std::ranges::max(options_.threads) : 1});
      }
    } else {
      for (const size_t threads : options_.threads) {
        for (Contender& each : contenders) {
          if (each.subject->caches()) entries.push_back({&each, threads});
        }
      }
    }
    Turns turns(phase == Phase::kCold ? kColdPasses : options_.repetitions);
    for (size_t i = 0; i < entries.size(); ++i) turns.AddRow();
    const Outcome taken =
        turns.Run([&](size_t i) { return TakeTurn(phase, plan, entries[i], turns.round()); });
    if (!taken || Interrupted()) return taken;
    for (size_t i = 0; i < entries.size(); ++i) WriteRow(phase, plan, entries[i], turns, i);
    return {};
  }

  std::expected<Turn, std::string> TakeTurn(Phase phase, const ReplayPlan& plan, Entry& entry,
                                            size_t round) {
    Contender& contender = *entry.contender;
    if (phase == Phase::kCold && round > 0) {
      contender.subject = nullptr;
      if (Outcome made = contender.Make(); !made) return std::unexpected(std::move(made.error()));
    }
    Subject& subject = *contender.subject;
    ShowProgress(fmt::format("{}: {}, {}, {} threads, turn {}", plan.trace, subject.title(),
                             NameOf(phase), entry.threads, round + 1));
    const Stats before = subject.stats();
    const auto pass =
        phase == Phase::kCold
            ? ReplayOnce(subject, plan, entry.threads,
                         subject.caches() ? 1 : options_.libnfs_one_in, server_.server_pid(),
                         KillerUnder(contender))
            : ReplayFor(subject, plan, entry.threads, static_cast<double>(options_.turn_ms) / 1000);
    if (!pass) return std::unexpected(pass.error());
    for (const std::string& mismatch : pass->first_mismatches) {
      if (contender.mismatches_shown++ >= kMismatchesShown) break;
      Warn(kBench, fmt::format("{} differs: {}", subject.title(), mismatch));
    }
    if (contender.is_nfswalk) compared_ += pass->compared;
    (contender.is_nfswalk ? mismatches_ : others_mismatches_) += pass->mismatches;
    if (phase == Phase::kCold) entry.tally = {};  // the counts of a first pass are those of one
    entry.tally.Add(*pass, before, subject.stats());
    return pass->turn;
  }

  // Once in a first pass of nfswalk, for tests.
  std::function<void(uint64_t)> KillerUnder(const Contender& contender) {
    if (options_.kill_server_after == 0 || !contender.is_nfswalk) return {};
    return [this](uint64_t call) {
      if (call != options_.kill_server_after) return;
      const Outcome restarted = server_.KillAndRestart();
      Warn(kBench, restarted ? "killed and restarted the server"
                             : "the server does not come back: " + restarted.error());
      if (!restarted) std::_Exit(1);  // the calls of other threads would wait for ever
    };
  }

  void WriteRow(Phase phase, const ReplayPlan& plan, Entry& entry, const Turns& turns,
                size_t number) {
    Tally& tally = entry.tally;
    Row need_ref;
    for (size_t i = 1; i < kNeedRefCount; ++i) {
      need_ref.Set(NeedRefName(static_cast<NeedRef>(i)), tally.need_ref[i]);
    }
    Row row;
    row.Set("trace", plan.trace)
        .Set("phase", NameOf(phase))
        .Set("subject", entry.contender->subject->subject())
        .Set("mode", entry.contender->subject->mode())
        .Set("threads", entry.threads)
        .Set("ops", tally.ops)
        .Set("mismatches", tally.mismatches)
        .Set("rpcs", tally.rpcs)
        .Set("peek_hits", tally.peek_hits)
        .Set("need_ref", need_ref);
    AddTiming(row, turns, number, static_cast<double>(UsableProcessors(entry.threads)));
    if (turns.WhyDisturbed(number).empty()) {
      row.Set("p50_ns", tally.Percentile(50)).Set("p99_ns", tally.Percentile(99));
    }
    rows_.Write(row);
  }

  const ReplayOptions& options_;
  ServerExport& server_;
  RowWriter& rows_;
  size_t plans_run_ = 0;
  uint64_t compared_ = 0;    // of nfswalk, as the next one
  uint64_t mismatches_ = 0;  // the verdict
  uint64_t others_mismatches_ = 0;
};

// Works in new directories of the export and removes them again. Of each plan a row with its
// coverage; rows with trace, phase, subject, mode, threads, ops, mismatches, rpcs, peek_hits,
// need_ref, p50_ns, p99_ns (without the cost of the clock) and what AddTiming() says. Answers that
// differ are told on stderr; those of nfswalk are an error in the end. After an interrupt it ends
// early with the rows so far.
Outcome RunReplay(const ReplayOptions& options) {
  auto server = ServerExport::Open(options.server);
  if (!server) return std::unexpected(std::move(server.error()));
  auto rows = RowWriter::Open(kBench, options.json_file,
                              Row()
                                  .Set("server", (*server)->description())
                                  .Set("repetitions", options.repetitions)
                                  .Set("turn_ms", options.turn_ms)
                                  .Set("libnfs_one_in", options.libnfs_one_in));
  if (!rows) return std::unexpected(std::move(rows.error()));
  return ReplayRun(options, **server, *rows).Run();
}

// Those that Bazel makes beside this program.
std::vector<std::string> ShippedPlans() {
  std::error_code error;
  const std::filesystem::path me = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path plans = me.parent_path().parent_path() / "traces";
  return {plans / "git-null.plan", plans / "linux-null.plan"};
}

void ShortenRun(ReplayOptions& options) {
  options.repetitions = 3;
  options.turn_ms = 50;
  options.libnfs_one_in = 100;
}

int Main(int argc, char** argv) {
  ReplayOptions options;
  CLI::App app(
      "Replays the file system calls of a recorded make against a real NFS export, compares every "
      "answer with the recorded one, and times nfswalk's walk modes beside the kernel and libnfs. "
      "Exits 0 only if no answer of nfswalk differs.",
      "make_replay");
  app.add_flag_callback(
      "--quick", [&] { ShortenRun(options); },
      "Fewer and shorter turns, where nothing else is said");
  app.add_option("--plan", options.plans,
                 "What bench/trace/make_plan.py made of a trace; repeatable [the traces that ship]")
      ->check(CLI::ExistingFile);
  app.add_option("--modes", options.modes)
      ->delimiter(',')
      ->check(CLI::IsMember({"ref", "rcu-locked", "rcu-peek", "rcu-search", "kernel", "libnfs"}))
      ->capture_default_str();
  app.add_option("--libnfs-one-in", options.libnfs_one_in,
                 "Ask libnfs only every so many calls: it sends several RPCs for each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--kill-server-after", options.kill_server_after,
                 "Kill and restart our nfs-ganesha after so many calls")
      ->group("");  // for tests: not in --help
  AddTurnMs(app, options.turn_ms);
  AddRunOptions(app, options);
  return RunBenchmark(app, argc, argv, [&] {
    if (options.plans.empty()) options.plans = ShippedPlans();
    return RunReplay(options);
  });
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
