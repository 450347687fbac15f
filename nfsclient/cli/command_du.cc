#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/human_size.h"
#include "nfsclient/cli/tree_command.h"
#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/cli/verbatim.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kExamples =
    "Prints the disk space of each directory with all that is below it, in KiB, directories after\n"
    "their entries; of the root of the export if no PATH is given. A file with several hard links\n"
    "counts once. What cannot be read is an error and not counted.\n"
    "\n"
    "Examples:\n"
    "  nfswalk du -sh nfs://server/export home\n"
    "  nfswalk du -d 1 nfs://server/export | sort -n\n"
    "  nfswalk du --json -s nfs://server/export home | jq .used_bytes\n";

struct DuOptions {
  TreeOptions tree;
  bool summarize = false;
  bool human = false;
  bool all = false;
  bool apparent_size = false;
  size_t depth_max = std::numeric_limits<size_t>::max();
};

struct Sum {
  uint64_t used_bytes = 0;
  uint64_t size_bytes = 0;
  uint64_t files = 0;

  void Add(const Sum& other) {
    used_bytes += other.used_bytes;
    size_bytes += other.size_bytes;
    files += other.files;
  }
};

class DiskUsage : public TreeVisitor {
 public:
  DiskUsage(Session& session, const DuOptions& options) : session_(session), options_(options) {}

  void Enter(const TreeEntry& entry) override {
    session_.console().Advance(1, "files");
    const Attributes& attributes = entry.attributes;
    const Sum own{attributes.used_bytes, attributes.size_bytes, 1};
    if (attributes.type == protocol::FileType::kDirectory) {
      sums_.push_back(own);
      return;
    }
    if (attributes.nlink > 1 && !seen_.emplace(attributes.fsid, attributes.fileid).second) return;
    if (!sums_.empty()) sums_.back().Add(own);
    if (entry.depth == 0 || (options_.all && entry.depth <= options_.depth_max)) {
      Print(entry.path, own);
    }
  }

  void Leave(const TreeEntry& directory) override {
    const Sum sum = sums_.back();
    sums_.pop_back();
    if (!sums_.empty()) sums_.back().Add(sum);
    if (directory.depth <= options_.depth_max) Print(directory.path, sum);
  }

  void Fail(const std::string& path, std::errc error) override { session_.Fail(path, error); }
  bool done() const override { return session_.done(); }

 private:
  void Print(const std::string& path, const Sum& sum) {
    if (session_.json()) {
      return session_.Print(PathJson(path)
                                .Set("used_bytes", sum.used_bytes)
                                .Set("size_bytes", sum.size_bytes)
                                .Set("files", sum.files));
    }
    const uint64_t bytes = options_.apparent_size ? sum.size_bytes : sum.used_bytes;
    const std::string size = options_.human ? HumanSize(bytes) : std::to_string(Kibibytes(bytes));
    session_.console().Print(size + "\t" + session_.console().ForOutput(path) + "\n");
  }

  Session& session_;
  const DuOptions& options_;
  std::vector<Sum> sums_;                         // of the directories that we are inside
  std::set<std::pair<uint64_t, uint64_t>> seen_;  // fsid and fileid of files with more links
};

void DeclareFlags(CLI::App& command, DuOptions& options) {
  // -h is for sizes here, as in du(1).
  command.set_help_flag("--help", "print this help message and exit");
  CLI::Option* summarize =
      command.add_flag("-s,--summarize", options.summarize, "only the sum of each PATH");
  command.add_flag("-h,--human-readable", options.human, "sizes as 1.5K, 12M");
  command.add_flag("-a,--all", options.all, "files, too, not only directories")
      ->excludes(summarize);
  command.add_flag("--apparent-size", options.apparent_size, "sizes of files, not disk space");
  AddValue(command, "-d,--max-depth", options.depth_max,
           "print only so many levels below each PATH", ParseNumber)
      ->type_name("NUMBER")
      ->excludes(summarize);
}

}  // namespace

void AddDuCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("du", "sum up disk space");
  DeclareCommonOptions(*command, invocation.common, Paths::kDefaultToRoot, kExamples);
  auto options = std::make_shared<DuOptions>();
  DeclareFlags(*command, *options);
  DeclareThreads(*command, options->tree);
  command->callback([&invocation, options] {
    if (options->summarize) options->depth_max = 0;
    LimitCaches(invocation.common.mount);
    invocation.run = [&paths = invocation.common.paths, options](Session& session) {
      DiskUsage usage(session, *options);
      for (const std::string& path : paths) {
        if (session.done()) return;
        WalkTree(session.client(), session.credential(), path, options->tree, usage);
      }
    };
  });
}

}  // namespace nfswalk::cli
