#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "bench/data/command_run.h"
#include "bench/data/contender.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

namespace fs = std::filesystem;

using Strings = std::vector<std::string>;

// Describes a command that works on a tree.
struct TreeWork {
  const char* name;
  Strings (*arguments)(const std::string& program, const std::string& url, const std::string& tree,
                       mode_t mode);
  bool prints;   // the same as the program of coreutils or findutils that has its name
  bool removes;  // so that each turn needs a tree of its own
};

constexpr TreeWork kWorks[] = {
    {"find",
     [](const std::string& program, const std::string& url, const std::string& tree, mode_t) {
       return Strings{program, "find", url, tree};
     },
     true, false},
    {"du",
     [](const std::string& program, const std::string& url, const std::string& tree, mode_t) {
       return Strings{program, "du", url, tree};
     },
     true, false},
    {"chmod -R",
     [](const std::string& program, const std::string& url, const std::string& tree, mode_t mode) {
       return Strings{program, "chmod", "-R", "-m", fmt::format("{:o}", mode), url, tree};
     },
     false, false},
    {"rm -r",
     [](const std::string& program, const std::string& url, const std::string& tree, mode_t) {
       return Strings{program, "rm", "-r", url, tree};
     },
     false, true},
};

// Whether everything beneath `root` has `mode`.
bool HasMode(const fs::path& root, mode_t mode) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end;
       at.increment(error)) {
    if (at->status(error).permissions() != static_cast<fs::perms>(mode)) return false;
  }
  return !error;
}

// One program at one work over one version.
class TreeTurns {
 public:
  TreeTurns(const DataPlace& place, const TreeWork& work, const Program& program, int version)
      : place_(place), work_(work), program_(program), version_(version) {}

  std::expected<DataTurn, std::string> operator()() {
    if (turn_ == 0) {
      if (work_.prints) {
        if (const auto same = Compared(); !same) return same;
      }
      const uint64_t before = place_.counted->calls();
      if (const auto counted = Take(Way::kCounted); !counted) return counted;
      calls_ = place_.counted->calls() - before;
    }
    auto taken = Take(Way::kDirect);
    if (taken) taken->rpcs = calls_;
    return taken;
  }

 private:
  // Runs the work, and checks what it has done.
  std::expected<DataTurn, std::string> Take(Way way) {
    ++turn_;
    const mode_t mode = OtherMode();
    const std::string tree =
        work_.removes ? fmt::format("removed-{}-v{}-{}", program_.subject, version_, turn_)
                      : kSources;
    const fs::path local = fs::path(place_.backing) / tree;
    std::error_code error;
    if (work_.removes) {
      fs::copy(fs::path(place_.backing) / kSources, local, fs::copy_options::recursive, error);
      if (error) return std::unexpected("cannot copy a tree: " + error.message());
    }
    auto taken = CommandTurn(place_, Arguments(way, tree, mode), place_.sizes.tree_files);
    if (!taken || Interrupted()) return taken;
    if (work_.removes && fs::exists(local, error)) {
      return std::unexpected("it has left something");
    }
    if (!work_.removes && !work_.prints && !HasMode(local, mode)) {
      return std::unexpected(fmt::format("not everything has the mode {:o}", mode));
    }
    return taken;
  }

  // The sources do not have it: a chmod(1) to the mode that a file has sends no SETATTR.
  mode_t OtherMode() const {
    constexpr mode_t kModes[] = {0775, 0755};
    std::error_code error;
    const fs::perms now = fs::status(fs::path(place_.backing) / kSources, error).permissions();
    return now == static_cast<fs::perms>(kModes[0]) ? kModes[1] : kModes[0];
  }

  std::expected<DataTurn, std::string> Compared() const {
    Strings compared = {
        "bash", "-c",
        fmt::format("cmp <(\"$@\" | sort) <(cd \"$0\" && {} {} | sort)", work_.name, kSources),
        place_.backing};
    const Strings arguments = Arguments(Way::kDirect, kSources, 0);
    compared.insert(compared.end(), arguments.begin(), arguments.end());
    return CommandTurn(place_, compared, place_.sizes.tree_files);
  }

  Strings Arguments(Way way, const std::string& tree, mode_t mode) const {
    return work_.arguments(program_.file, UrlOf(place_, "", version_, way), tree, mode);
  }

  const DataPlace& place_;
  const TreeWork& work_;
  const Program& program_;
  const int version_;
  size_t turn_ = 0;  // the name of a tree
  uint64_t calls_ = 0;
};

}  // namespace

std::vector<Contender> Trees(const DataPlace& place) {
  std::vector<Contender> all;
  for (const TreeWork& work : kWorks) {
    for (const int version : {3, 4}) {
      for (const Program& program : place.programs) {
        all.push_back({.work = work.name,
                       .subject = program.subject,
                       .version = version,
                       .files = place.sizes.tree_files,
                       .take = TreeTurns(place, work, program, version)});
      }
    }
  }
  return all;
}

}  // namespace nfswalk::bench
