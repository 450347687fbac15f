// Every result of a client whose tree changes through it, or through another one once the server
// has recalled what it delegated, is one that is allowed: WALK-15 and WALK-16 over random changes,
// walks and evictions by 8 threads.
//
// --walks=N (over all tests of the binary) and --seed=N; both are printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

#include "rcu/sync_point.h"
#include "tests/fixtures/client_internals.h"
#include "tests/stress/oracle_load.h"

namespace nfswalk::stress {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kWalksByDefault = 70'000;
#elif defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kWalksByDefault = 500'000;
#else
constexpr uint64_t kWalksByDefault = 2'100'000;
#endif
constexpr uint64_t kWalksOfRound = 10'000;
// Renames nest directories: in a long run paths would exceed PATH_MAX.
constexpr uint64_t kWalksOfTree = 300'000;
// A tree loses its directories with time, and walks to them their prefixes.
constexpr uint64_t kWalksOfCalmTree = 20'000;

uint64_t walks_of_binary = kWalksByDefault;
uint64_t seed_of_binary = std::random_device{}();

struct Setting {
  const char* name;
  WalkMode walk;
  bool tight;  // caches smaller than the tree
  bool calm = false;
  bool delegated = false;
};

constexpr Setting kSettings[] = {
    {"SearchAmple", WalkMode::kRcuSearch, false},
    {"SearchTight", WalkMode::kRcuSearch, true},
    {"SearchCalm", WalkMode::kRcuSearch, false, true},
    {"PeekAmple", WalkMode::kRcuPeek, false},
    {"PeekTight", WalkMode::kRcuPeek, true},
    {"LockedAmple", WalkMode::kRcuLocked, false},
    {"RefAmple", WalkMode::kRef, false},
    {"RefTight", WalkMode::kRef, true},
    {"SearchDelegated", WalkMode::kRcuSearch, false, true, true},
    {"PeekDelegated", WalkMode::kRcuPeek, false, true, true},
    {"RefDelegated", WalkMode::kRef, false, true, true},
};
constexpr uint64_t kSettingCount = std::size(kSettings);

// Sync points where walkers and writers yield, to be overtaken.
constexpr std::string_view kWindows[] = {
    "walk:before-child-sample",   "walk:after-child-sample",
    "stat:before-attributes",     "walk:before-dotdot-check",
    "walk:after-link-text",       "unlazy:after-reference",
    "readlink-rcu:between-loads", "lookup:before-reference",
    "lookup:after-rpc",           "revalidate:after-getattr",
    "access:after-rpc",           "revalidate:after-lookup",
    "change:names-known",         "change:taken-in",
    "move:between-chains",        "dentry:dying",
    "delegation:watched",         "open:registered",
};

class OracleStress : public testing::TestWithParam<Setting> {
 protected:
  OracleStress() {
    for (std::string_view window : kWindows) {
      rcu::SyncPointScript::OnReach(window, OracleLoad::YieldSometimes);
    }
  }
  ~OracleStress() override { rcu::SyncPointScript::ClearAll(); }

  static MountOptions Options() {
    MountOptions options;
    options.walk = GetParam().walk;
    if (GetParam().tight) {
      options.dentries_max = 24;
      options.inodes_max = 20;
      options.access_entries_max = 8;
    }
    return options;
  }

  // Floors, which a run that tests nothing would miss.
  static void ExpectCoverage(const Tally& tally) {
    EXPECT_GT(tally.changes, tally.walks / (GetParam().calm ? 500 : 20));
    EXPECT_GT(tally.found, tally.walks / 10);
    EXPECT_GT(tally.absent, tally.walks / 50);
    EXPECT_GT(tally.denied, tally.walks / 200);
    EXPECT_GT(tally.not_directory, 0u);
    EXPECT_LT(tally.stale, tally.walks / 20);
    EXPECT_LE(tally.undecided, 1 + tally.walks / 10'000);
    // Walks were overtaken by changes to what they had read; else the guarantees would not differ.
    if (tally.walks >= 100'000 && !GetParam().calm) {
      EXPECT_GT(tally.torn + tally.loose, 0u);
    }
    if (GetParam().walk == WalkMode::kRef) return;
    EXPECT_GT(tally.cached, tally.walks / 50);
    EXPECT_GT(tally.strict, tally.walks / 50);
    if (GetParam().walk != WalkMode::kRcuSearch) return;
    const uint64_t hits_min = GetParam().delegated ? tally.walks / 10
                              : GetParam().calm    ? tally.walks * 3 / 10
                                                   : tally.walks / 2000;
    EXPECT_GT(tally.path_hits, hits_min);
  }
};

// WALK-14, WALK-15, DELEG-1, DELEG-3.
TEST_P(OracleStress, EveryResultIsAllowedByTheHistory) {
  std::cout << "--seed=" << seed_of_binary << " --walks=" << walks_of_binary << std::endl;
  const uint64_t walks = walks_of_binary / kSettingCount;
  Tally tally;
  uint64_t recalled = 0, delegated_opens = 0;
  for (uint64_t seed = seed_of_binary; tally.walks < walks && !HasFailure(); ++seed) {
    OracleLoad load({.mount = Options(),
                     .calm = GetParam().calm,
                     .delegated = GetParam().delegated,
                     .seed = seed});
    const uint64_t walks_of_tree =
        std::min(walks - tally.walks, GetParam().calm ? kWalksOfCalmTree : kWalksOfTree);
    while (load.tally().walks < walks_of_tree && load.violations().empty())
      load.Round(kWalksOfRound);
    for (const std::string& fault : load.violations()) ADD_FAILURE() << fault;
    tally.Add(load.tally());
    tally.path_hits += load.client().stats().path_hits;

    recalled += load.recalls();
    load.RecallAll();
    delegated_opens += load.client().stats().delegated_opens;
    nfs::Superblock& superblock = ClientInternals::SuperblockOf(load.client());
    superblock.background.Wait();
    superblock.delegation_returns.Wait();  // these hold inodes
    load.client().DropCaches();
    EXPECT_EQ(load.client().stats().dentries, 1u);
    EXPECT_EQ(load.client().stats().inodes, 1u);
  }
  std::cout << tally.walks << " walks (" << tally.cached << " by RCU-walk alone, " << tally.strict
            << " strict, " << tally.path_hits << " by the path cache): " << tally.found
            << " found, " << tally.absent << " absent, " << tally.denied << " denied, "
            << tally.not_directory << " not a directory; " << tally.changes
            << " changes; not at one moment: " << tally.torn
            << ", not even overlapping: " << tally.loose << "; undecided: " << tally.undecided
            << "; " << tally.try_again << " EAGAIN, " << tally.stale << " ESTALE; " << recalled
            << " recalls, " << delegated_opens << " opens of what is delegated" << std::endl;
  if (HasFailure()) return;
  ExpectCoverage(tally);
  if (!GetParam().delegated) return;
  EXPECT_GT(recalled, tally.walks / 200);
  EXPECT_GT(delegated_opens, tally.walks / 20);
}

INSTANTIATE_TEST_SUITE_P(All, OracleStress, testing::ValuesIn(kSettings),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace nfswalk::stress

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&](std::string_view name) {
      return argument.starts_with(name) ? argument.data() + name.size() : nullptr;
    };
    if (const char* walks = value("--walks=")) {
      nfswalk::stress::walks_of_binary = std::strtoull(walks, nullptr, 10);
    } else if (const char* seed = value("--seed=")) {
      nfswalk::stress::seed_of_binary = std::strtoull(seed, nullptr, 10);
    } else {
      std::cerr << "unknown argument " << argument << ": --walks=N, --seed=N" << std::endl;
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
