#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/show/human_size.h"
#include "nfsclient/cli/tree_walk.h"

namespace nfswalk::cli {
namespace {

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

}  // namespace

void RunCommand(Session& session, const Paths& paths, const DuOptions& options) {
  DiskUsage usage(session, options);
  for (const std::string& path : paths) {
    if (session.done()) return;
    WalkTree(session.client(), session.credential(), path, options.tree, usage);
  }
}

}  // namespace nfswalk::cli
