#include "tests/stress/view_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nfswalk::stress {

void ViewHistory::Set(const std::string& fact, uint64_t value, Interval change, int client) {
  Versions& versions = facts_[fact];
  if (!versions.empty() && versions.back().value == value) return;
  versions.push_back({value, change, client});
}

void ViewHistory::SetTransient(const std::string& fact, uint64_t value, Interval change,
                               int client) {
  const uint64_t before = Now(fact);
  facts_[fact].push_back({value, change, client, /*is_transient=*/true});
  facts_[fact].push_back({before, change, client});
}

uint64_t ViewHistory::Now(const std::string& fact) const {
  const auto found = facts_.find(fact);
  return found == facts_.end() ? 0 : found->second.back().value;
}

size_t ViewHistory::VersionsDuring(const std::string& fact, Interval call) const {
  const auto found = facts_.find(fact);
  if (found == facts_.end()) return 0;
  return static_cast<size_t>(std::ranges::count_if(found->second, [call](const Version& version) {
    return version.change.begin <= call.end && version.change.end >= call.begin;
  }));
}

std::set<uint64_t> ViewHistory::Showable(const View& view) const {
  std::set<uint64_t> values;
  const auto found = facts_.find(view.fact);
  if (found == facts_.end()) return values;
  const Versions& versions = found->second;
  for (size_t i = Oldest(versions, view, 0); i < versions.size(); ++i) {
    if (versions[i].change.begin > view.call.end) break;
    if (versions[i].value != 0) values.insert(versions[i].value);
  }
  return values;
}

size_t ViewHistory::Oldest(const Versions& versions, const View& view, size_t floor) {
  size_t first = versions.size();
  while (first > floor) {
    if (first < versions.size()) {
      const Version& next = versions[first];
      const uint64_t kept_ns = next.client == view.client ? 0 : view.lifetime_ns;
      if (next.change.end + kept_ns < view.call.begin) break;
    }
    --first;
  }
  return first;
}

size_t ViewHistory::FirstAllowed(const Versions& versions, const View& view, size_t floor) {
  size_t first = Oldest(versions, view, floor);
  while (first < versions.size() && versions[first].change.begin <= view.call.end) {
    const bool is_shown = !versions[first].is_transient || versions[first].client != view.client;
    if (is_shown && versions[first].value == view.value) return first;
    const bool is_replaced =
        first + 1 < versions.size() && versions[first + 1].change.begin <= view.call.end;
    if (view.is_listed && view.value == 0 && is_replaced) return first;
    ++first;
  }
  return versions.size();
}

std::string ViewHistory::Describe(const Versions& versions, const View& view, size_t floor,
                                  const View* shown) {
  std::string text =
      fmt::format("client {}: {} showed {} = {} from {} to {} us, versions:", view.client, view.what,
                  view.fact, view.value, view.call.begin / 1000, view.call.end / 1000);
  const auto last = std::ranges::upper_bound(versions, view.call.end, {},
                                             [](const Version& v) { return v.change.begin; });
  const auto end = static_cast<size_t>(last - versions.begin());
  for (size_t i = end > 6 ? end - 6 : 0; i < end; ++i) {
    const Version& version = versions[i];
    text += fmt::format("\n  {} by client {} from {} to {} us before its begin{}", version.value,
                        version.client,
                        static_cast<int64_t>(view.call.begin - version.change.begin) / 1000,
                        static_cast<int64_t>(view.call.begin - version.change.end) / 1000,
                        i == floor && shown != nullptr
                            ? fmt::format(", shown by a {} from {} to {} us before", shown->what,
                                          (view.call.begin - shown->call.begin) / 1000,
                                          (view.call.begin - shown->call.end) / 1000)
                            : "");
  }
  return text;
}

std::vector<std::string> ViewHistory::Check(std::vector<View> views) const {
  std::ranges::sort(views, {}, [](const View& view) { return view.call.begin; });
  struct Shown {
    size_t version = 0;
    const View* view = nullptr;
    bool operator>(const Shown& other) const { return view->call.end > other.view->call.end; }
  };
  // Versions of a fact that a client has seen: the latest by calls that have ended, and those by
  // calls that are still running.
  struct Seen {
    Shown latest = {};
    std::priority_queue<Shown, std::vector<Shown>, std::greater<>> running = {};
  };
  std::map<std::pair<std::string_view, int>, Seen> seen;
  std::vector<std::string> faults;
  for (const View& view : views) {
    const auto found = facts_.find(view.fact);
    if (found == facts_.end()) {
      faults.push_back(Describe({}, view, 0, nullptr));
      continue;
    }
    const Versions& versions = found->second;
    Seen& of_client = seen[{view.fact, view.client}];
    Shown& latest = of_client.latest;
    while (!of_client.running.empty() && of_client.running.top().view->call.end < view.call.begin) {
      if (of_client.running.top().version >= latest.version) latest = of_client.running.top();
      of_client.running.pop();
    }
    const size_t version = FirstAllowed(versions, view, latest.version);
    if (version == versions.size()) {
      faults.push_back(Describe(versions, view, latest.version, latest.view));
    } else if (view.is_final) {
      of_client.running.push({version, &view});
    }
  }
  return faults;
}

}  // namespace nfswalk::stress
