#include "bench/make_replay/options.h"

#include <CLI/CLI.hpp>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kThreadsMax = 256;
constexpr double kSecondsMax = 3600;
constexpr size_t kRoundsMax = 1000;

// Empty, or what is wrong with the names.
std::string ReadModes(const std::vector<std::string>& names, Options& options) {
  for (const std::string& name : names) {
    if (name == "kernel") {
      options.kernel = true;
    } else if (name == "libnfs") {
      options.libnfs = true;
    } else if (const auto mode = ParseWalkMode(name)) {
      options.modes.push_back(*mode);
    } else {
      return fmt::format(
          "--modes: \"{}\" is none of ref, rcu-locked, rcu-peek, rcu-search, kernel, libnfs", name);
    }
  }
  return {};
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  std::vector<std::string> modes = {"ref",        "rcu-locked", "rcu-peek",
                                    "rcu-search", "kernel",     "libnfs"};
  CLI::App app(
      "Replays the file system calls of a recorded make against a real NFS export, compares every "
      "answer "
      "with the recorded one, and times nfswalk's walk modes beside the kernel and libnfs. Exits 0 "
      "only if "
      "no answer differs.",
      "make_replay");
  app.add_option("--trace", options.traces,
                 "Output of `strace -f -y -e trace=%file,...`, plain or .xz; repeatable")
      ->check(CLI::ExistingFile)
      ->capture_default_str();
  app.add_option("--modes", modes, "ref, rcu-locked, rcu-peek, rcu-search, kernel, libnfs")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Numbers of threads, one row each")
      ->delimiter(',')
      ->check(CLI::Range(size_t{1}, kThreadsMax))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Warm time of each row")
      ->check(CLI::Range(0.001, kSecondsMax))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds,
                 "Turns that the time of a row is spread over, all rows interleaved")
      ->check(CLI::Range(size_t{1}, kRoundsMax))
      ->capture_default_str();
  app.add_option("--libnfs-one-in", options.libnfs_one_in,
                 "Ask libnfs only every so many calls: it sends several RPCs for each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option(
      "--server", options.server,
      "nfs://host[:port]/export of a server to use instead of an own nfs-ganesha; the tree is made "
      "in a new directory there, as uid 0, and removed afterwards");
  app.add_option("--json", options.json_file, "Write the rows to this file too");
  app.add_option("--kill-server-after", options.kill_server_after,
                 "Kill and restart our nfs-ganesha after so many calls")
      ->group("");  // for tests: not in --help
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports through exceptions; none passes on from here.
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const std::string error = ReadModes(modes, options); !error.empty()) {
    fmt::print(stderr, "make_replay: {}\n", error);
    return 2;
  }
  return options;
}

}  // namespace nfswalk::bench
