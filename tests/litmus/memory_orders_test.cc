// Each order in the code under test, weakened, breaks a scenario; those that do not are listed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/litmus/explorer.h"
#include "tests/litmus/scenario.h"

namespace nfswalk::litmus {
namespace {

// All of whose orders are checked.
constexpr std::array kFiles = {
    "access_cache/access_cache.cc",
    "access_cache/access_cache.h",
    "access_cache/access_list.cc",
    "access_cache/access_list.h",
    "nfsclient/icache/open_count.h",
    "rcu/bit_lock_chain.h",
    "rcu/change_count.h",
    "rcu/keyed_change_count.h",
    "rcu/lockref.h",
    "rcu/rcu_chain.h",
    "rcu/seqcount.h",
    "rcu/spin_lock.h",
};

// Orders of which no scenario needs all: the code, and what it can be weakened to.
struct Spare {
  std::string_view file;
  std::string_view code;
  std::memory_order order;
};
constexpr std::array kSpares = {
    // O2's fence and TrySample()'s order suffice for what a change guards: begun_ is stored before
    // the fence of its Change.
    Spare{"rcu/change_count.h", "return begun_.load(std::memory_order_acquire) == sample;",
          std::memory_order_relaxed},
    // Validate()'s fence suffices: it stands behind this load where a walk is recorded.
    Spare{"rcu/keyed_change_count.h", "shards_[keys.shards_[i]].load(std::memory_order_acquire);",
          std::memory_order_relaxed},
};

std::vector<std::string> LinesOf(const char* file) {
  std::ifstream code(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(code, line);)
    lines.push_back(line.substr(0, line.find("//")));
  return lines;
}

// The numbers of the lines that name an order which is not relaxed, in code that ships.
std::vector<uint32_t> OrderedLines(const std::vector<std::string>& lines) {
  std::vector<uint32_t> ordered;
  bool ships = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.starts_with("#ifdef NFSWALK_TSAN")) ships = false;
    if (line.starts_with("#else") || line.starts_with("#endif")) ships = true;
    for (const char* order : {"memory_order_acq", "memory_order_rel", "memory_order_seq_cst"}) {
      const size_t at = line.find(order);
      if (ships && at != line.npos && !line.substr(at).starts_with("memory_order_relaxed")) {
        ordered.push_back(static_cast<uint32_t>(i + 1));
        break;
      }
    }
  }
  return ordered;
}

std::vector<std::memory_order> Weaker(std::memory_order order) {
  if (order == std::memory_order_acq_rel) {
    return {std::memory_order_acquire, std::memory_order_release};
  }
  return {std::memory_order_relaxed};
}

using Users = std::map<Site, std::vector<const Scenario*>>;

// The scenarios that come by each order of the client.
const Users& AllUsers() {
  static const Users all = [] {
    Users users;
    for (const Scenario* scenario : Scenario::All()) {
      const Result result = Explore(scenario->run, {.executions_max = kExecutionsMax});
      for (const Site& site : result.sites) users[site].push_back(scenario);
    }
    return users;
  }();
  return all;
}

class MemoryOrders : public testing::TestWithParam<const char*> {
 protected:
  // Returns the scenarios that come by each order of the file GetParam().
  static Users UsersOfFile() {
    Users users = AllUsers();
    std::erase_if(users, [](const auto& user) { return user.first.file != GetParam(); });
    return users;
  }
};

TEST_P(MemoryOrders, EachIsInAScenario) {
  std::set<uint32_t> calls;
  for (const auto& [site, scenarios] : UsersOfFile()) calls.insert(site.line);
  const std::vector<uint32_t> ordered = OrderedLines(LinesOf(GetParam()));
  EXPECT_FALSE(ordered.empty());
  std::set<uint32_t> met;
  for (const uint32_t line : ordered) {
    // The call that names the order begins there, or up to three lines before.
    const auto after = calls.upper_bound(line);
    const uint32_t call = after != calls.begin() ? *std::prev(after) : 0;
    EXPECT_TRUE(line - call <= 3 && met.insert(call).second) << GetParam() << ":" << line;
  }
}

TEST_P(MemoryOrders, EachThatIsWeakenedBreaksAScenario) {
  const std::vector<std::string> lines = LinesOf(GetParam());
  for (const auto& [site, scenarios] : UsersOfFile()) {
    for (const std::memory_order order : Weaker(site.order)) {
      const Options options{.executions_max = kExecutionsMax, .weakening = Weakening{site, order}};
      const bool needed = std::any_of(scenarios.begin(), scenarios.end(), [&](const Scenario* one) {
        return !Explore(one->run, options).violation.empty();
      });
      const std::string& line = lines.at(site.line - 1);
      const bool spare = std::any_of(kSpares.begin(), kSpares.end(), [&](const Spare& one) {
        return one.file == site.file && line.find(one.code) != line.npos && one.order == order;
      });
      EXPECT_EQ(needed, !spare) << site.file << ":" << site.line << ": " << line;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, MemoryOrders, testing::ValuesIn(kFiles),
                         [](const testing::TestParamInfo<const char*>& info) {
                           std::string name = info.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                               '_');
                           return name;
                         });

}  // namespace
}  // namespace nfswalk::litmus
