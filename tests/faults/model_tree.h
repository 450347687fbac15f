// model_tree: one worker's model of its files at the server.
//
// Paths are relative to the load's directory: "t0/n1", "t0/d2/n0", "shared/0.n3". A worker changes
// only names of its own, in its own directory and in the shared one: the model predicts the outcome
// of every operation, whatever other workers do.
//
// Thread safety: none; a model belongs to one worker.
#ifndef NFSWALK_TESTS_FAULTS_MODEL_TREE_H_
#define NFSWALK_TESTS_FAULTS_MODEL_TREE_H_

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "nfsclient/protocol/types.h"

namespace nfswalk::faults {

struct Node {
  protocol::FileType type = protocol::FileType::kRegular;
  uint32_t mode = 0;
  std::string text;  // a file's data, or a link's text
  uint64_t fileid = 0;
  uint32_t links = 1;
};
using NodeRef = std::shared_ptr<Node>;

class ModelTree {
 public:
  // `own`: the worker's directory; `mark`: the prefix of its names in the shared directory.
  ModelTree(std::string own, std::string shared, std::string mark)
      : own_(std::move(own)), shared_(std::move(shared)), mark_(std::move(mark)) {}

  bool IsThere(const std::string& path) const { return names_.contains(path); }
  // Returns null if there is none.
  NodeRef Find(const std::string& path) const;
  // Follows symbolic links in last place. Errors: as stat(2).
  std::expected<NodeRef, std::errc> Follow(std::string path) const;
  bool HasDirectoryOf(const std::string& path) const;
  std::set<std::string> NamesIn(const std::string& directory) const;

  void Add(const std::string& path, NodeRef node);
  void Remove(const std::string& path);
  // Applies a successful rename(2); of directories with all below.
  void Rename(const std::string& from, const std::string& to);
  // Reads the model anew from the server's directory; `backing` is the load's. For a worker whose
  // last operation has an unknown outcome.
  void Reload(const std::string& backing);

 private:
  void ReloadDirectory(const std::string& backing, const std::string& directory);

  const std::string own_, shared_, mark_;
  std::map<std::string, NodeRef> names_;
};

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_MODEL_TREE_H_
