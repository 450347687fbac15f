#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
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

// The tree that is copied from and to far away, in the export and beside it.
constexpr const char* kFew = "few";
constexpr size_t kFewFiles = 100;

// Sizes as of a program's sources: half of them below 4 KiB, 12 KiB on the average.
Outcome MakeTree(const fs::path& root, size_t files) {
  constexpr size_t kFilesPerDirectory = 25;
  constexpr double kMedianBytes = 4096, kSigma = 1.5, kMostBytes = 1 << 20;
  std::mt19937 random(1);
  std::lognormal_distribution<double> size(std::log(kMedianBytes), kSigma);
  std::error_code error;
  for (size_t i = 0; i < files && !Interrupted(); ++i) {
    const size_t directory = i / kFilesPerDirectory;
    const fs::path in = root / fmt::format("part{}", directory % 10) / fmt::format("{}", directory);
    fs::create_directories(in, error);
    std::ofstream(in / fmt::format("file{}", i)) << std::string(
        static_cast<size_t>(std::min(size(random), kMostBytes)), static_cast<char>('a' + i % 26));
  }
  if (error) return std::unexpected("cannot make a tree: " + error.message());
  return {};
}

// Names of what is beneath, and the content of files; less after an error.
std::map<std::string, std::string> ContentOf(const fs::path& root) {
  std::map<std::string, std::string> all;
  std::error_code error;
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().lexically_relative(root);
    if (at->is_directory(error)) {
      all[name + "/"] = "";
      continue;
    }
    std::ostringstream text;
    text << std::ifstream(at->path()).rdbuf();
    all[name] = std::move(text).str();
  }
  return all;
}

// Runs the copy, checks it, and removes it.
std::expected<DataTurn, std::string> Copy(const DataPlace& place, const Strings& arguments,
                                          const fs::path& source, const fs::path& made,
                                          size_t files) {
  auto taken = CommandTurn(place, arguments, files);
  if (taken && !Interrupted() && ContentOf(made) != ContentOf(source)) {
    taken = std::unexpected(arguments.front() + " has made a copy that differs");
  }
  std::error_code error;
  fs::remove_all(made, error);
  if (error) return std::unexpected("cannot remove a copy: " + error.message());
  return taken;
}

class ContenderList {
 public:
  explicit ContenderList(const DataPlace& place) : place_(place) {}

  // Adds a `cat` of one file, which is a quarter as large if it is `distant`.
  void AddCat(int version, bool distant) {
    const DataPlace& place = place_;
    const std::string file = distant ? "4-0" : "1-0";
    const uint64_t mebibytes = place.sizes.mebibytes / (distant ? 4 : 1);
    const Way way = WayTo(distant);
    const auto add = [&](const std::string& subject, Strings arguments) {
      all_.push_back({.work = "cat",
                      .subject = subject,
                      .version = version,
                      .distant = distant,
                      .take = [&place, arguments = std::move(arguments), mebibytes, file,
                               is_first = true]() mutable {
                        auto taken = CommandTurn(place, arguments, mebibytes);
                        if (!taken || !std::exchange(is_first, false)) return taken;
                        Strings compared = {"sh", "-c", "\"$@\" | cmp - \"$0\"",
                                            place.backing + "/" + file};
                        compared.insert(compared.end(), arguments.begin(), arguments.end());
                        const auto run = CommandTurn(place, compared, mebibytes);
                        return run ? taken : run;
                      }});
    };
    for (const Program& program : place.programs) {
      add(program.subject, {program.file, "cat", UrlOf(place, "", version, way), file});
    }
    add("nfs-cat", {"nfs-cat", UrlOf(place, "/" + file, version, way)});
  }

  void AddCopies(int version, bool distant) {
    const DataPlace& place = place_;
    const std::string tree = distant ? kFew : kSources;
    const size_t files = distant ? kFewFiles : place.sizes.tree_files;
    for (const Program& program : place.programs) {
      AddCopy({"cp to", program.subject, version, distant, tree, files}, place.backing,
              [&place, &program, tree, version](const std::string& name, Way way) {
                return Strings{program.file, "cp", "-r", place.scratch + "/" + tree,
                               UrlOf(place, "", version, way), name};
              });
      AddCopy({"cp from", program.subject, version, distant, tree, files}, place.scratch,
              [&place, &program, tree, version](const std::string& name, Way way) {
                return Strings{program.file, "cp", "-r", UrlOf(place, "", version, way), tree,
                               place.scratch + "/" + name};
              });
    }
  }

  void AddLocalCopy() {
    const DataPlace& place = place_;
    AddCopy({"cp to", "kernel, tmpfs", 0, false, kSources, place.sizes.tree_files}, place.backing,
            [&place](const std::string& name, Way) {
              return Strings{"cp", "-r", place.scratch + "/" + kSources,
                             place.backing + "/" + name};
            });
  }

  std::vector<Contender> Take() { return std::move(all_); }

 private:
  static Way WayTo(bool distant) { return distant ? Way::kDistant : Way::kDirect; }

  struct TreeCopy {
    const char* work;
    std::string subject;
    int version;
    bool distant;
    std::string tree;
    size_t files;
  };

  // `arguments_for(name, way)`: that make the copy `name` in `destination`. A new one every time:
  // the server must not find what it knows of the last one.
  template <typename ArgumentsFor>
  void AddCopy(const TreeCopy& copy, const std::string& destination,
               const ArgumentsFor& arguments_for) {
    const auto take = [&place = place_, source = fs::path(place_.scratch) / copy.tree, destination,
                       copy, arguments_for, turn = 0,
                       calls = uint64_t{0}]() mutable -> std::expected<DataTurn, std::string> {
      const auto run = [&](Way way) {
        const std::string name =
            fmt::format("copy-{}-v{}-{}-{}", copy.subject, copy.version, copy.distant, turn++);
        return Copy(place, arguments_for(name, way), source, destination + "/" + name, copy.files);
      };
      if (turn == 0 && copy.version != 0 && !copy.distant) {
        const uint64_t before = place.counted->calls();
        if (const auto counted = run(Way::kCounted); !counted) return counted;
        calls = place.counted->calls() - before;
      }
      auto taken = run(WayTo(copy.distant));
      if (taken) taken->rpcs = calls;
      return taken;
    };
    all_.push_back({.work = copy.work,
                    .subject = copy.subject,
                    .version = copy.version,
                    .files = copy.files,
                    .distant = copy.distant,
                    .take = take});
  }

  const DataPlace& place_;
  std::vector<Contender> all_;
};

}  // namespace

std::vector<Contender> Commands(const DataPlace& place) {
  ContenderList list(place);
  for (const bool distant : {false, true}) {
    for (const int version : {3, 4}) {
      list.AddCat(version, distant);
      list.AddCopies(version, distant);
    }
  }
  list.AddLocalCopy();
  return list.Take();
}

Outcome MakeCopied(const DataPlace& place) {
  for (const std::string& root : {place.backing, place.scratch}) {
    if (Outcome made = MakeTree(fs::path(root) / kSources, place.sizes.tree_files); !made) {
      return made;
    }
    if (Outcome made = MakeTree(fs::path(root) / kFew, kFewFiles); !made) return made;
  }
  return {};
}

}  // namespace nfswalk::bench
