// make_replay: the file system calls of a recorded make, asked again.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/make_replay/build_plan.h"
#include "bench/make_replay/build_replay.h"
#include "bench/make_replay/plan.h"
#include "bench/make_replay/replay.h"
#include "bench/measure/command_line.h"
#include "bench/measure/machine_share.h"
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

// A way to mount. Of the version of --server where `version` is 0.
struct MountMode {
  std::string_view name;
  WalkMode walk = WalkMode::kRcuSearch;
  bool close_to_open = false;
  int version = 0;
  bool expires = false;
  bool builds_only = false;  // not in null makes
};
constexpr MountMode kMountModes[] = {
    {"ref", WalkMode::kRef},
    {"rcu-locked", WalkMode::kRcuLocked},
    {"rcu-peek", WalkMode::kRcuPeek},
    {"rcu-search"},
    {.name = "v3-cto", .close_to_open = true, .version = 3},
    {.name = "v4-nocto", .version = 4},
    {.name = "v4-cto", .close_to_open = true, .version = 4},
    {.name = "v4-ref", .walk = WalkMode::kRef, .version = 4, .builds_only = true},
    {.name = "v4-rcu-locked", .walk = WalkMode::kRcuLocked, .version = 4, .builds_only = true},
    {.name = "v4-rcu-peek", .walk = WalkMode::kRcuPeek, .version = 4, .builds_only = true},
    {.name = "v3-expired", .close_to_open = true, .version = 3, .expires = true},
    {.name = "v4-expired", .close_to_open = true, .version = 4, .expires = true},
    {.name = "v3-nocto-expired", .version = 3, .expires = true},
    {.name = "v4-nocto-expired", .version = 4, .expires = true},
};
// Before the name of a mode with a version: mounted by the kernel's own NFS client. Not replayed
// unasked, since many kernels have none.
constexpr std::string_view kKernelClient = "kernel-";
constexpr std::string_view kKernel = "kernel";
constexpr std::string_view kLibnfs = "libnfs";

std::vector<std::string> DefaultModes() {
  std::vector<std::string> names;
  for (const MountMode& mode : kMountModes) names.emplace_back(mode.name);
  names.emplace_back(kKernel);
  names.emplace_back(kLibnfs);
  return names;
}

std::vector<std::string> AllModes() {
  std::vector<std::string> names = DefaultModes();
  for (const MountMode& mode : kMountModes) {
    if (mode.version != 0) names.push_back(fmt::format("{}{}", kKernelClient, mode.name));
  }
  return names;
}

struct ReplayOptions : RunOptions {
  ReplayOptions() : RunOptions{.threads = {1, 2, 4, 8}, .repetitions = 5} {}

  std::vector<std::string> plans;
  std::vector<std::string> modes = DefaultModes();
  bool builds = true;  // among the plans that ship
  uint64_t turn_ms = 500;
  uint32_t lifetime_s = 5;  // of attributes that are to time out: longer than a pass takes
  size_t libnfs_one_in = 10;
  uint64_t kill_server_after = 0;  // calls, 0: never
};

using MadeSubject = std::expected<std::unique_ptr<Subject>, std::string>;

// A first pass, with empty caches; turns with full caches; passes after all has timed out; a whole
// build, which changes the tree.
enum class Phase : uint8_t { kCold, kWarm, kExpired, kBuild };
constexpr std::string_view NameOf(Phase phase) {
  constexpr std::string_view kNames[] = {"cold", "warm", "expired", "build"};
  return kNames[static_cast<size_t>(phase)];
}

struct Contender {
  std::function<MadeSubject()> make;
  const MountMode* mount;                                 // null: the tmpfs, libnfs
  bool is_nfswalk;                                        // its answers are the verdict
  std::chrono::steady_clock::time_point turn_ended = {};  // the last one
  std::unique_ptr<Subject> subject = {};  // after the cold phase its caches are warm
  uint64_t mismatches_shown = 0;

  Outcome Make() {
    auto made = make();
    if (!made) return std::unexpected(std::move(made.error()));
    subject = std::move(*made);
    return {};
  }
};

// Adds up the counts of a row's turns, disturbed or not; keeps the latencies of undisturbed ones.
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
      const Outcome done = IsBuildPlan(file) ? RunBuild(file) : RunPlan(file);
      if (!done) return done;
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
    const std::string directory = NewDirectory();
    ShowProgress(plan->trace + ": making the tree");
    return server_.WithTree(plan->tree, directory, [&]() -> Outcome {
      std::vector<Contender> contenders;
      for (const std::string& mode : options_.modes) {
        Contender contender = ContenderOf(mode, plan->tree, directory);
        if (contender.mount != nullptr && contender.mount->builds_only) continue;
        if (Outcome made = contender.Make(); made) {
          contenders.push_back(std::move(contender));
        } else if (MayBeMissing(contender, mode)) {
          Warn(kBench, "left out: " + made.error());
        } else {
          return made;
        }
      }
      Outcome done;
      for (const Phase phase : {Phase::kCold, Phase::kWarm, Phase::kExpired}) {
        if (done) done = Replay(phase, contenders, *plan);
      }
      return done;
    });
  }

  // Every turn is another build, from the beginning: of a new tree, by a new client.
  Outcome RunBuild(const std::string& file) {
    ShowProgress(file);
    auto plan = LoadBuildPlan(file);
    if (!plan) return std::unexpected(std::move(plan.error()));
    rows_.Write(Row().Set("trace", plan->trace).SetJson("coverage", plan->coverage));
    const size_t threads = std::ranges::max(options_.threads);
    std::vector<std::string> modes;
    std::vector<Contender> contenders;
    for (const std::string& mode : options_.modes) {
      const FileTree empty = EmptyTree();
      const std::string directory = NewDirectory();
      const Outcome made = server_.WithTree(empty, directory, [&]() -> Outcome {
        Contender contender = ContenderOf(mode, empty, directory);
        if (!TakesPart(contender, Phase::kBuild)) return {};
        if (Outcome can = contender.Make(); !can) {
          if (!MayBeMissing(contender, mode)) return can;
          Warn(kBench, "left out: " + can.error());
          return {};
        }
        modes.push_back(mode);
        contenders.push_back(std::move(contender));
        return {};
      });
      if (!made) return made;
    }
    std::vector<Entry> entries;
    for (Contender& each : contenders) entries.push_back({&each, threads});
    Turns turns(kColdPasses);
    for (size_t i = 0; i < entries.size(); ++i) turns.AddRow();
    const Outcome taken =
        turns.Run([&](size_t i) { return TakeBuild(*plan, modes[i], entries[i]); });
    if (!taken || Interrupted()) return taken;
    for (size_t i = 0; i < entries.size(); ++i) {
      WriteRow(Phase::kBuild, plan->trace, entries[i], turns, i);
    }
    return {};
  }

  std::expected<Turn, std::string> TakeBuild(const BuildPlan& plan, const std::string& mode,
                                             Entry& entry) {
    Contender& contender = *entry.contender;
    contender.subject = nullptr;
    const std::string directory = NewDirectory();
    ShowProgress(fmt::format("{}: {}, {} threads", plan.trace, mode, entry.threads));
    Turn turn;
    const Outcome done = server_.WithTree(plan.tree, directory, [&]() -> Outcome {
      contender.make = ContenderOf(mode, plan.tree, directory).make;
      if (Outcome made = contender.Make(); !made) return made;
      const MachineShare machine(server_.server_pid());
      const Stats before = contender.subject->stats();
      auto pass = ReplayBuild(*contender.subject, plan, entry.threads,
                              contender.subject->caches() ? 1 : options_.libnfs_one_in);
      if (!pass) return std::unexpected(std::move(pass.error()));
      pass->turn.share = machine.Share();
      Count(Phase::kBuild, *pass, before, entry);
      turn = pass->turn;
      return {};
    });
    if (!done) return std::unexpected(done.error());
    return turn;
  }

  // Two plans of one name, or two runs against one server, must not meet.
  std::string NewDirectory() {
    return fmt::format("nfswalk-make-replay-{}-{}", getpid(), directories_++);
  }

  Contender ContenderOf(std::string_view mode, const FileTree& tree, const std::string& directory) {
    const bool by_kernel = mode.starts_with(kKernelClient);
    const std::string_view name = by_kernel ? mode.substr(kKernelClient.size()) : mode;
    const auto* const mount = std::ranges::find(kMountModes, name, &MountMode::name);
    if (mount == std::ranges::end(kMountModes)) {
      return {.make = MakerOf(mode, tree, directory), .mount = nullptr, .is_nfswalk = false};
    }
    return {
        .make = MakerOf(*mount, by_kernel, directory), .mount = mount, .is_nfswalk = !by_kernel};
  }

  // The kernel where we may not mount, a version where the server is not ours.
  bool MayBeMissing(const Contender& contender, std::string_view mode) const {
    return mode.starts_with(kKernel) ||
           (contender.is_nfswalk && contender.mount->version != 0 && !server_is_ours());
  }

  std::function<MadeSubject()> MakerOf(std::string_view peer, const FileTree& tree,
                                       const std::string& directory) {
    if (peer == kKernel) return [&tree] { return MakeKernelSubject(tree); };
    return [this, &directory] { return MakeLibnfsSubject(server_.UrlOf(directory), server_); };
  }

  std::function<MadeSubject()> MakerOf(const MountMode& mode, bool by_kernel,
                                       const std::string& directory) {
    return [this, &mode, by_kernel, &directory]() -> MadeSubject {
      MountOptions options = server_.OptionsFor(directory);
      options.walk = mode.walk;
      options.nocto = !mode.close_to_open;
      if (mode.version != 0) {
        options.server.version = mode.version;
        options.server.minor_version = 0;
      }
      if (mode.expires) {
        options.acregmin_s = options.acregmax_s = options_.lifetime_s;
        options.acdirmin_s = options.acdirmax_s = options_.lifetime_s;
      }
      if (by_kernel) return MakeKernelClientSubject(options, server_, mode.name);
      auto client = server_.Mount(options);
      if (!client) return std::unexpected(std::move(client.error()));
      return MakeNfswalkSubject(std::move(*client), mode.name);
    };
  }

  Outcome Replay(Phase phase, std::vector<Contender>& contenders, const ReplayPlan& plan) {
    std::vector<Entry> entries;
    const std::vector<size_t> most = {std::ranges::max(options_.threads)};
    for (const size_t threads : phase == Phase::kWarm ? options_.threads : most) {
      for (Contender& each : contenders) {
        if (!TakesPart(each, phase)) continue;
        entries.push_back({&each, each.subject->caches() ? threads : 1});
      }
    }
    Turns turns(phase == Phase::kCold ? kColdPasses : options_.repetitions);
    for (size_t i = 0; i < entries.size(); ++i) turns.AddRow();
    const Outcome taken =
        turns.Run([&](size_t i) { return TakeTurn(phase, plan, entries[i], turns.round()); });
    if (!taken || Interrupted()) return taken;
    for (size_t i = 0; i < entries.size(); ++i) WriteRow(phase, plan.trace, entries[i], turns, i);
    return {};
  }

  // Then it serves both versions.
  bool server_is_ours() const { return server_.server_pid() != 0; }

  static bool TakesPart(const Contender& contender, Phase phase) {
    const bool expires = contender.mount != nullptr && contender.mount->expires;
    switch (phase) {
      case Phase::kCold:
        return true;
      case Phase::kWarm:
        return contender.subject->caches() && !expires;
      case Phase::kExpired:
        return expires;
      case Phase::kBuild:
        return !expires;
    }
    std::unreachable();
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
    if (phase == Phase::kExpired) {
      std::this_thread::sleep_until(contender.turn_ended +
                                    std::chrono::seconds(options_.lifetime_s + 1));
    }
    const Stats before = subject.stats();
    const MachineShare machine(server_.server_pid());
    auto pass =
        phase == Phase::kWarm
            ? ReplayFor(subject, plan, entry.threads, static_cast<double>(options_.turn_ms) / 1000)
            : ReplayOnce(subject, plan, entry.threads,
                         subject.caches() ? 1 : options_.libnfs_one_in,
                         phase == Phase::kCold ? KillerUnder(contender) : nullptr);
    if (!pass) return std::unexpected(pass.error());
    contender.turn_ended = std::chrono::steady_clock::now();
    if (contender.mount != nullptr && contender.mount->expires &&
        pass->turn.seconds >= options_.lifetime_s) {
      Warn(kBench, fmt::format("{}: attributes timed out within a pass of {:.0f} s",
                               subject.title(), pass->turn.seconds));
    }
    if (phase != Phase::kWarm || subject.stats().rpcs != before.rpcs) {
      pass->turn.share = machine.Share();
    }
    Count(phase, *pass, before, entry);
    return pass->turn;
  }

  // Shows what differs, and adds the pass to the totals and to its row.
  void Count(Phase phase, const PassResult& pass, const Stats& before, Entry& entry) {
    Contender& contender = *entry.contender;
    for (const std::string& mismatch : pass.first_mismatches) {
      if (contender.mismatches_shown++ >= kMismatchesShown) break;
      Warn(kBench, fmt::format("{} differs: {}", contender.subject->title(), mismatch));
    }
    if (contender.is_nfswalk) compared_ += pass.compared;
    (contender.is_nfswalk ? mismatches_ : others_mismatches_) += pass.mismatches;
    const bool disturbed = pass.turn.share < kShareMin;
    if (phase != Phase::kWarm) {  // the counts are those of one pass
      if (disturbed && entry.tally.ops != 0) return;
      entry.tally = {};
    }
    entry.tally.Add(pass, before, contender.subject->stats());
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

  void WriteRow(Phase phase, const std::string& trace, Entry& entry, const Turns& turns,
                size_t number) {
    Tally& tally = entry.tally;
    Row need_ref;
    for (size_t i = 1; i < kNeedRefCount; ++i) {
      need_ref.Set(NeedRefName(static_cast<NeedRef>(i)), tally.need_ref[i]);
    }
    Row row;
    row.Set("trace", trace)
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
    if (turns.WhyDisturbed(number).empty() && !tally.latencies_ns.empty()) {
      row.Set("p50_ns", tally.Percentile(50)).Set("p99_ns", tally.Percentile(99));
    }
    rows_.Write(row);
  }

  const ReplayOptions& options_;
  ServerExport& server_;
  RowWriter& rows_;
  size_t directories_ = 0;
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
                                  .Set("lifetime_s", options.lifetime_s)
                                  .Set("libnfs_one_in", options.libnfs_one_in));
  if (!rows) return std::unexpected(std::move(rows.error()));
  return ReplayRun(options, **server, *rows).Run();
}

// Returns the files of the plans that Bazel makes beside this program.
std::vector<std::string> ShippedPlans(bool builds) {
  std::error_code error;
  const std::filesystem::path me = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path plans = me.parent_path().parent_path() / "traces";
  std::vector<std::string> files = {plans / "git-null.plan", plans / "linux-null.plan"};
  if (builds) files.push_back(plans / "git-build.plan");
  return files;
}

void ShortenRun(ReplayOptions& options) {
  options.repetitions = 3;
  options.turn_ms = 50;
  options.libnfs_one_in = 100;
  options.builds = false;
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
      "Fewer and shorter turns, and no whole build, where nothing else is said");
  app.add_option("--plan", options.plans,
                 "What bench/trace/make_plan.py made of a trace; repeatable [the traces that ship]")
      ->check(CLI::ExistingFile);
  app.add_option("--modes", options.modes)
      ->delimiter(',')
      ->check(CLI::IsMember(AllModes()))
      ->capture_default_str();
  app.add_option("--lifetime", options.lifetime_s,
                 "Seconds that attributes live in the modes that expire: longer than a pass")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option(
         "--libnfs-one-in", options.libnfs_one_in,
         "Ask libnfs only every so many calls that change nothing: it sends several RPCs for "
         "each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--kill-server-after", options.kill_server_after,
                 "Kill and restart our nfs-ganesha after so many calls")
      ->group("");  // for tests: not in --help
  AddTurnMs(app, options.turn_ms);
  AddRunOptions(app, options);
  return RunBenchmark(app, argc, argv, [&] {
    if (options.plans.empty()) options.plans = ShippedPlans(options.builds);
    return RunReplay(options);
  });
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
