// oracle_history: the history of a file tree, and when each state of it may be seen.
//
// A tree is a set of facts: what a name leads to, where a directory is, the mode of a node, its
// attributes. Each fact has a sequence of versions, and the changes between them.
//
// A caching client that is the only one to change a tree, or is told before others do, may show a
// change from the server's critical section on, and must once the changing call has returned. So a
// version may be seen from the tick at which the server makes it until the call returns that
// replaces it (WALK-15). Both are ticks of one counter.
//
// Thread safety: none, except that the caller of a change may write its `returned` while other
// threads add to the history.
#ifndef NFSWALK_TESTS_STRESS_ORACLE_HISTORY_H_
#define NFSWALK_TESTS_STRESS_ORACLE_HISTORY_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nfsclient/protocol/types.h"

namespace nfswalk::stress {

using protocol::Attributes;
using protocol::FileType;

using Tick = uint64_t;
inline constexpr Tick kForever = ~Tick{0};

// One counter for all threads: earlier ticks are smaller.
class TickClock {
 public:
  Tick Now() { return ++ticks_; }

 private:
  std::atomic<Tick> ticks_{0};
};

using NodeId = uint64_t;
inline constexpr NodeId kNothing = 0;
inline constexpr NodeId kRootNode = 1;

struct Change {
  Tick made = 0;
  Tick returned = kForever;
  std::string what = {};  // for messages
};

// The versions of one fact.
template <class Value>
class FactHistory {
 public:
  struct Version {
    Value value;
    const Change* change;   // that made it
    Tick until = kForever;  // the last tick at which it may be seen, once sealed
  };
  using Versions = std::span<const Version>;

  FactHistory(Value value, const Change& change) { Add(std::move(value), change); }

  void Add(Value value, const Change& change) {
    if (!versions_.empty() && versions_.back().change == &change) {
      versions_.back().value = std::move(value);
    } else {
      versions_.push_back({std::move(value), &change});
    }
  }
  const Value& now() const { return versions_.back().value; }
  Versions all() const { return versions_; }

  // Preconditions: all changes have returned. A walk that saw a later change return cannot see the
  // version before an earlier one: `until` never decreases.
  void Seal() {
    Tick until = kForever;
    for (size_t i = versions_.size(); i-- > 0;) {
      versions_[i].until = until;
      until = std::min(until, versions_[i].change->returned);
    }
  }

  // Returns all versions that may be seen at some tick from `lo` to `hi`. Preconditions: sealed.
  Versions Between(Tick lo, Tick hi) const {
    const auto first = std::ranges::lower_bound(versions_, lo, {}, &Version::until);
    auto last = first;
    while (last != versions_.end() && last->change->made <= hi) ++last;
    return {first, last};
  }

  // Returns the change that replaced the version; null for the newest.
  const Change* EndOf(const Version& version) const {
    return &version == &versions_.back() ? nullptr : (&version + 1)->change;
  }

  // Keeps the newest version alone, valid from the beginning.
  void Forget(const Change& beginning) {
    versions_.erase(versions_.begin(), versions_.end() - 1);
    versions_.front().change = &beginning;
    versions_.front().until = kForever;
  }

 private:
  std::vector<Version> versions_;
};

// The place of a directory.
struct Place {
  NodeId parent;
  std::string name;
};

struct Node {
  FileType type;
  std::string target;  // a symbolic link's; immutable
  FactHistory<Attributes> attributes;
  FactHistory<uint32_t> mode;
  FactHistory<Place> place;  // a directory's; unchanged by its removal
  std::map<std::string, FactHistory<NodeId>, std::less<>> names;  // a directory's
};

class History {
 public:
  // Makes the root, with all rights for all.
  History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // Valid until Forget().
  Change& NewChange(Tick made, std::string what);
  // Adds a node without a name. Fills in `attributes.fileid`.
  NodeId Make(FileType type, std::string target, Attributes attributes, const Change& change);
  // Makes `name` lead to `node`, or to kNothing, from `change` on.
  void SetName(NodeId directory, std::string_view name, NodeId node, const Change& change);
  void SetAttributes(NodeId node, const Attributes& attributes, const Change& change);

  // Returns what `name` leads to at present.
  NodeId Child(NodeId directory, std::string_view name) const;
  const Node* Find(NodeId node) const;
  const Node& at(NodeId node) const { return nodes_.at(node); }
  const std::deque<Change>& changes() const { return changes_; }

  // Called after the last change of a round has returned, before queries.
  void Seal();
  // Makes the present state the beginning of the next round. Drops nodes without a name.
  void Forget();

 private:
  const Change beginning_{.made = 0, .returned = 0};
  std::deque<Change> changes_;  // stable addresses
  std::unordered_map<NodeId, Node> nodes_;
  NodeId last_node_ = kRootNode;
};

}  // namespace nfswalk::stress

#endif  // NFSWALK_TESTS_STRESS_ORACLE_HISTORY_H_
