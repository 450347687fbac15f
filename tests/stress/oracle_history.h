// oracle_history: all that a file tree ever was, and when each part of it may have been seen.
//
// A tree is a set of facts: what a name leads to, where a directory is, the mode of a node, its
// attributes. Each fact has a past: its values, one after the other, and the changes between them.
//
// A client with caches that is the only one to change a tree shows a change somewhere between the
// server's critical section and the return of the changing call. So a value may be seen from the
// moment at which the server makes it (nobody can know it earlier) until the call returns that puts
// another one in its place (WALK-15). Both moments are ticks of one counter.
//
// Thread safety: none, except that the caller of a change may write its `returned` while others add
// to the history.
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

#include "nfsclient/protocol/attributes.h"

namespace nfswalk::stress {

using protocol::Attributes;
using protocol::FileType;

using Tick = uint64_t;
inline constexpr Tick kForever = ~Tick{0};

// One counter for all threads: a tick that is taken before another is smaller.
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
  std::string what = {};  // for people
};

// The values of one fact.
template <class Value>
class Past {
 public:
  struct Version {
    Value value;
    const Change* change;   // that brought it
    Tick until = kForever;  // the last tick at which it may be seen, once sealed
  };
  using Versions = std::span<const Version>;

  Past(Value value, const Change& change) { Add(std::move(value), change); }

  void Add(Value value, const Change& change) {
    if (!versions_.empty() && versions_.back().change == &change) {
      versions_.back().value = std::move(value);
    } else {
      versions_.push_back({std::move(value), &change});
    }
  }
  const Value& now() const { return versions_.back().value; }
  Versions all() const { return versions_; }

  // To be called when all changes have returned. Who saw a later change return cannot see what was
  // before an earlier one: `until` never decreases.
  void Seal() {
    Tick until = kForever;
    for (size_t i = versions_.size(); i-- > 0;) {
      versions_[i].until = until;
      until = std::min(until, versions_[i].change->returned);
    }
  }

  // All versions that may have been seen at some tick from `lo` to `hi`. Preconditions: sealed.
  Versions Between(Tick lo, Tick hi) const {
    const auto first = std::ranges::lower_bound(versions_, lo, {}, &Version::until);
    auto last = first;
    while (last != versions_.end() && last->change->made <= hi) ++last;
    return {first, last};
  }

  // The change that put another value in its place; null if it is the newest.
  const Change* EndOf(const Version& version) const {
    return &version == &versions_.back() ? nullptr : (&version + 1)->change;
  }

  // Keeps the newest value only, as if it had always been.
  void Forget(const Change& beginning) {
    versions_.erase(versions_.begin(), versions_.end() - 1);
    versions_.front().change = &beginning;
    versions_.front().until = kForever;
  }

 private:
  std::vector<Version> versions_;
};

// Where a directory is.
struct Place {
  NodeId parent;
  std::string name;
};

struct Node {
  FileType type;
  std::string target;  // a symbolic link's; it never changes
  Past<Attributes> attributes;
  Past<uint32_t> mode;
  Past<Place> place;  // a directory's; a removed one stays where it was
  std::map<std::string, Past<NodeId>, std::less<>> names;  // a directory's
};

class History {
 public:
  // The root, with all rights for everybody.
  History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // Stays valid until Forget().
  Change& NewChange(Tick made, std::string what);
  // A node that has no name yet. `attributes.fileid` is filled in.
  NodeId Make(FileType type, std::string target, Attributes attributes, const Change& change);
  // From `change` on `name` leads to `node`, or to kNothing.
  void SetName(NodeId directory, std::string_view name, NodeId node, const Change& change);
  void SetAttributes(NodeId node, const Attributes& attributes, const Change& change);

  // What `name` leads to now.
  NodeId Child(NodeId directory, std::string_view name) const;
  const Node* Find(NodeId node) const;
  const Node& at(NodeId node) const { return nodes_.at(node); }
  const std::deque<Change>& changes() const { return changes_; }

  // After the last change of a round has returned; before the history is asked.
  void Seal();
  // What is now becomes the beginning of the next round. Nodes without a name are gone.
  void Forget();

 private:
  const Change beginning_{.made = 0, .returned = 0};
  std::deque<Change> changes_;  // the elements never move
  std::unordered_map<NodeId, Node> nodes_;
  NodeId last_node_ = kRootNode;
};

}  // namespace nfswalk::stress

#endif  // NFSWALK_TESTS_STRESS_ORACLE_HISTORY_H_
