// learned_tree: the tree that a trace saw, as far as its answers tell: types, modes, sizes, links,
// and (by their absence) the names that did not exist.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_LEARNED_TREE_H_
#define NFSWALK_BENCH_MAKE_REPLAY_LEARNED_TREE_H_

#include <string>
#include <string_view>
#include <unordered_set>

#include "bench/make_replay/tree.h"
#include "bench/trace/trace.h"

namespace nfswalk::bench {

// How a path relates to the names that cannot be compared. A walk that comes by such a name, or
// ends beneath it, is left out.
struct PathTrouble {
  bool per_process = false;
  bool changed = false;
  bool conflicting = false;
  bool any() const { return per_process || changed || conflicting; }
};

class LearnedTree {
 public:
  explicit LearnedTree(const Trace& trace);

  const Tree& tree() const { return tree_; }
  PathTrouble TroubleOn(std::string_view path, bool no_follow) const;
  // Two answers about `path` disagree: whatever lies there is out of the comparison.
  void AddConflict(std::string_view path, bool no_follow);
  size_t changed_names() const { return changed_.size(); }
  // Sorted, for the report.
  std::vector<std::string> conflicting_names() const;

 private:
  void LearnChanges(const Trace& trace);
  void LearnAnswer(const Call& call);
  void LearnAttributes(const std::string& canonical, TreeNode& node,
                       const RecordedAttributes& attributes);
  void SetType(const std::string& canonical, TreeNode& node, uint32_t type);
  void GiveParents();
  void FillIn();

  Tree tree_;
  std::unordered_set<std::string> changed_;
  std::unordered_set<std::string> conflicting_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_LEARNED_TREE_H_
