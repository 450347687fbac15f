#include "tests/stress/oracle.h"

#include <algorithm>
#include <compare>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace nfswalk::stress {

namespace {

constexpr int kLinksMax = 40;         // path_resolution(7)
constexpr int kStepsMax = 1'000'000;  // of one search
constexpr int kShortSearch = 300;     // steps before states are recorded

// The state of a search, and the assumptions that it rests on.
struct State {
  NodeId at = kRootNode;
  std::string rest;  // of the path
  int links = 0;
  // kStrict: the ticks at which all facts so far held. Else: the tick of the last step, and the end
  // of the call.
  Tick lo;
  Tick hi;
  // kHandOverHand: until when the position may be in its place, and the change that moved it.
  Tick held_until = kForever;
  const Change* held_before = nullptr;
  // Concurrent changes assumed to have taken effect; kStrict: and not to have.
  std::vector<const Change*> made = {};
  std::vector<const Change*> unmade = {};

  friend auto operator<=>(const State&, const State&) = default;
};

bool Contains(const std::vector<const Change*>& changes, const Change* change) {
  return std::ranges::find(changes, change) != changes.end();
}

class Search {
 public:
  Search(const History& history, const Walk& walk, Guarantee guarantee)
      : history_(history),
        operation_(walk.operation),
        outcome_(walk.outcome),
        guarantee_(guarantee) {}

  // True if the rest of the path may lead to the outcome.
  bool Explore(State state);
  bool gave_up() const { return steps_ > kStepsMax; }

 private:
  // Assumes a version of `past`; with `whole`, also for the other names of its change.
  template <class Value>
  bool Assume(State& state, const FactHistory<Value>& past,
              const typename FactHistory<Value>::Version& version, bool whole) const;
  // Tries all values that the fact may have: next(version, state).
  template <class Value, class Next>
  bool AnyVersion(const FactHistory<Value>& past, const State& state, bool whole, Next&& next);

  bool Component(const State& state);
  bool ToParent(const State& state, std::string_view rest);
  bool ToChild(const State& state, std::string_view name, std::string_view rest);
  bool Arrive(State state, NodeId child, std::string_view rest);
  bool Finish(const State& state);
  bool OutcomeIs(std::errc error) const { return outcome_.error == error; }
  State With(const State& state, std::string_view rest) const {
    State next = state;
    next.rest = rest;
    return next;
  }

  const History& history_;
  const Operation& operation_;
  const Outcome& outcome_;
  const Guarantee guarantee_;
  int steps_ = 0;
  std::set<State> visited_;  // bounds links that lead to each other
};

template <class Value>
bool Search::Assume(State& state, const FactHistory<Value>& past,
                    const typename FactHistory<Value>::Version& version, bool whole) const {
  const auto possible = past.Between(state.lo, state.hi);
  state.lo = std::max(state.lo, version.change->made);
  if (guarantee_ == Guarantee::kStrict) {
    state.hi = std::min(state.hi, version.until);
    if (state.lo > state.hi) return false;
  } else {
    const Tick held = guarantee_ == Guarantee::kHandOverHand ? state.held_until : kForever;
    if (state.lo > std::min({state.hi, version.until, held})) return false;
  }
  if (!whole) return true;
  for (const auto& other : possible) {
    if (&other <= &version) {
      if (other.change->returned < state.lo) continue;  // has returned: certain
      if (Contains(state.unmade, other.change)) return false;
      if (guarantee_ == Guarantee::kHandOverHand && state.held_before == other.change) return false;
      if (!Contains(state.made, other.change)) state.made.push_back(other.change);
    } else {
      if (Contains(state.made, other.change)) return false;
      if (guarantee_ == Guarantee::kStrict) state.unmade.push_back(other.change);
    }
  }
  return true;
}

template <class Value, class Next>
bool Search::AnyVersion(const FactHistory<Value>& past, const State& state, bool whole,
                        Next&& next) {
  for (const auto& version : past.Between(state.lo, state.hi)) {
    if (++steps_ > kStepsMax) return false;
    State then = state;
    if (Assume(then, past, version, whole) && next(version, std::move(then))) return true;
  }
  return false;
}

bool Search::Explore(State state) {
  state.rest.erase(0, std::min(state.rest.find_first_not_of('/'), state.rest.size()));
  if (state.rest.empty()) return Finish(state);
  if (steps_ > kShortSearch && !visited_.insert(state).second) return false;
  if (operation_.superuser) return Component(state);
  return AnyVersion(history_.at(state.at).mode, state, false, [&](const auto& mode, State then) {
    constexpr uint32_t kSearch = 1;
    if ((AccessBits(mode.value, false) & kSearch) == 0)
      return OutcomeIs(std::errc::permission_denied);
    return Component(then);
  });
}

bool Search::Component(const State& state) {
  const std::string_view path = state.rest;
  const std::string_view name = path.substr(0, path.find('/'));
  const std::string_view rest = path.substr(name.size());
  if (name == ".") return Explore(With(state, rest));
  if (name == "..") return ToParent(state, rest);
  return ToChild(state, name, rest);
}

bool Search::ToParent(const State& state, std::string_view rest) {
  if (state.at == kRootNode) return Explore(With(state, rest));
  const auto& place = history_.at(state.at).place;
  return AnyVersion(place, state, true, [&](const auto& here, State then) {
    const NodeId parent = here.value.parent;
    if (guarantee_ == Guarantee::kHandOverHand) {
      // Wherever the parent is at that tick, the walk holds it there.
      then.held_until = std::min(then.held_until, here.until);
      return AnyVersion(history_.at(parent).place, then, false,
                        [&](const auto& there, State above) {
                          above.held_until = there.until;
                          above.held_before = history_.at(parent).place.EndOf(there);
                          above.at = parent;
                          return Explore(With(above, rest));
                        });
    }
    then.at = parent;
    return Explore(With(then, rest));
  });
}

bool Search::ToChild(const State& state, std::string_view name, std::string_view rest) {
  const Node& directory = history_.at(state.at);
  const auto known = directory.names.find(name);
  if (known == directory.names.end()) return OutcomeIs(std::errc::no_such_file_or_directory);
  return AnyVersion(known->second, state, true, [&](const auto& child, State then) {
    if (child.value == kNothing) return OutcomeIs(std::errc::no_such_file_or_directory);
    const bool link = history_.at(child.value).type == FileType::kSymlink;
    const bool follows = operation_.follow && operation_.kind != Operation::Kind::kReadLink;
    if (!link || (rest.empty() && !follows)) {
      then.held_until = child.until;
      then.held_before = known->second.EndOf(child);
      return Arrive(std::move(then), child.value, rest);
    }
    if (then.links++ == kLinksMax) return OutcomeIs(std::errc::too_many_symbolic_link_levels);
    const std::string& target = history_.at(child.value).target;
    if (target.front() == '/') {
      then.at = kRootNode;
      then.held_until = kForever;
      then.held_before = nullptr;
    }
    then.rest = target + std::string(rest);
    return Explore(std::move(then));
  });
}

bool Search::Arrive(State state, NodeId child, std::string_view rest) {
  state.at = child;
  if (!rest.empty() && history_.at(child).type != FileType::kDirectory) {
    return OutcomeIs(std::errc::not_a_directory);
  }
  state.rest = rest;
  return Explore(std::move(state));
}

bool Search::Finish(const State& state) {
  const Node& node = history_.at(state.at);
  switch (operation_.kind) {
    case Operation::Kind::kReadLink:
      if (node.type != FileType::kSymlink) return OutcomeIs(std::errc::invalid_argument);
      return OutcomeIs(std::errc{}) && outcome_.text == node.target;
    case Operation::Kind::kAccess:
      return AnyVersion(node.mode, state, false, [&](const auto& mode, const State&) {
        const bool granted =
            (AccessBits(mode.value, operation_.superuser) & operation_.mask) == operation_.mask;
        return OutcomeIs(granted ? std::errc{} : std::errc::permission_denied);
      });
    case Operation::Kind::kOpen:
      if (node.type == FileType::kDirectory) return OutcomeIs(std::errc::is_a_directory);
      return AnyVersion(node.mode, state, false, [&](const auto& mode, const State&) {
        constexpr uint32_t kRead = 4;
        const bool granted = (AccessBits(mode.value, operation_.superuser) & kRead) != 0;
        return OutcomeIs(granted ? std::errc{} : std::errc::permission_denied);
      });
    case Operation::Kind::kStat:
      if (!OutcomeIs(std::errc{}) || outcome_.attributes.fileid != state.at) return false;
      return AnyVersion(node.attributes, state, false, [&](const auto& attributes, const State&) {
        return attributes.value == outcome_.attributes;
      });
  }
  return false;
}

const char* NameOf(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::kStat:
      return "stat";
    case Operation::Kind::kAccess:
      return "access";
    case Operation::Kind::kReadLink:
      return "readlink";
    case Operation::Kind::kOpen:
      return "open";
  }
  return "?";
}

}  // namespace

Verdict Check(const History& history, const Walk& walk, Guarantee guarantee) {
  Search search(history, walk, guarantee);
  State start{.rest = walk.operation.path, .lo = walk.begin, .hi = walk.end};
  if (search.Explore(std::move(start))) return Verdict::kLegal;
  return search.gave_up() ? Verdict::kUndecided : Verdict::kIllegal;
}

std::string Describe(const History& history, const Walk& walk, Guarantee guarantee) {
  constexpr size_t kChangesMax = 60;
  constexpr const char* kNames[] = {"steps", "hand-over-hand", "strict"};
  const auto& [operation, outcome, begin, end] = walk;
  std::ostringstream text;
  text << kNames[static_cast<size_t>(guarantee)] << " " << NameOf(operation.kind) << " '"
       << operation.path << "'" << (operation.follow ? "" : " nofollow")
       << (operation.superuser ? " as superuser" : "") << " mask " << operation.mask << " from "
       << begin << " to " << end << " -> " << std::make_error_code(outcome.error).message()
       << ", node " << outcome.attributes.fileid << " mode " << std::oct << outcome.attributes.mode
       << std::dec << " nlink " << outcome.attributes.nlink << " size "
       << outcome.attributes.size_bytes << " ctime " << outcome.attributes.ctime.seconds
       << " text '" << outcome.text << "'\n";
  const auto& changes = history.changes();
  const auto later = std::ranges::upper_bound(changes, end, {}, &Change::made);
  const auto last = static_cast<size_t>(later - changes.begin());
  for (size_t i = last - std::min(last, kChangesMax); i < last; ++i) {
    text << "  from " << changes[i].made << ", returned at " << changes[i].returned << ": "
         << changes[i].what << "\n";
  }
  return text.str();
}

}  // namespace nfswalk::stress
