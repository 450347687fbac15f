// make_replay: the file system calls of a recorded make, asked again.
#include <filesystem>

#include "bench/make_replay/replay_run.h"
#include "bench/measure/command_line.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/progress.h"

namespace nfswalk::bench {
namespace {

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
      "Exits 0 only if no answer differs.",
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
  if (const auto exit_code = ExitCodeOfParsing(app, argc, argv)) return *exit_code;
  if (options.plans.empty()) options.plans = ShippedPlans();
  CatchInterrupts();
  return Finish("make_replay", RunReplay(options));
}

}  // namespace
}  // namespace nfswalk::bench

int main(int argc, char** argv) { return nfswalk::bench::Main(argc, argv); }
