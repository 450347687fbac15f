// The inode cache itself, recorded: what its policies share, and what they do not.
#include "bench/shared_lines/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::bench {
namespace {

constexpr Workload kOnPrivateFiles[] = {Workload::kCreate, Workload::kWalk, Workload::kUnlink,
                                        Workload::kBulkstat, Workload::kWarm};
// A table in which no two files of different threads share a line of eight heads, by the hash that
// a fixed seed gives: the chance that two of 64 threads do is 6 in 100.
constexpr uint64_t kFewFiles = 16;
constexpr uint64_t kBucketsToSpare = 1024;

struct PerVisit {
  double writes;
  double reads;
};

ReplayPlan PlanOf(std::string_view policy, Workload workload, size_t threads) {
  return {.policy = *icache::ParseInodePolicy(policy), .workload = workload, .threads = threads};
}

PerVisit Shared(const ReplayPlan& plan) {
  const auto count = Replay(plan);
  if (!count) {
    ADD_FAILURE() << count.error();
    return {};
  }
  const auto visits = static_cast<double>(count->visits);
  return {static_cast<double>(count->lines.among_threads.writes) / visits,
          static_cast<double>(count->lines.among_threads.reads) / visits};
}

PerVisit SharedApart(std::string_view policy, Workload workload, size_t threads) {
  ReplayPlan plan = PlanOf(policy, workload, threads);
  plan.files_per_thread = kFewFiles;
  plan.buckets_per_file = kBucketsToSpare;
  return Shared(plan);
}

std::string Named(Workload workload, size_t threads) {
  return std::string(WorkloadName(workload)) + " by " + std::to_string(threads);
}

TEST(ReplayTest, OneThreadSharesNothing) {
  for (const char* policy : {"H0+L0+U0", "H3+L1+U1", "H7+L1+U1", "H8+L3+U1"}) {
    for (const Workload workload : kOnPrivateFiles) {
      const PerVisit shared = SharedApart(policy, workload, 1);
      EXPECT_EQ(shared.writes, 0) << policy << WorkloadName(workload);
      EXPECT_EQ(shared.reads, 0) << policy << WorkloadName(workload);
    }
  }
}

TEST(ReplayTest, CountsAreDeterministic) {
  const ReplayPlan plan = PlanOf("H6+L0+U0", Workload::kWalk, 8);
  const PerVisit once = Shared(plan), again = Shared(plan);
  EXPECT_EQ(once.writes, again.writes);
  EXPECT_EQ(once.reads, again.reads);
  EXPECT_GT(once.writes, 0);
}

// INODE-21.
TEST(ReplayTest, PoliciesWithoutAGlobalLockWriteNoSharedLine) {
  for (const char* policy : {"H2+L1+U1", "H3+L1+U1", "H4+L1+U1", "H7+L1+U1", "H7+L3+U1"}) {
    for (const Workload workload : kOnPrivateFiles) {
      for (const size_t threads : {2, 32}) {
        const PerVisit shared = SharedApart(policy, workload, threads);
        EXPECT_EQ(shared.writes, 0) << policy << " " << Named(workload, threads);
        // One in 32 allocations and one in 256 insertions sums the counters of all threads.
        const bool allocates = workload != Workload::kUnlink && workload != Workload::kWarm;
        const double sums = allocates ? 2.0 / kFewFiles : 0;
        EXPECT_LE(shared.reads, sums * static_cast<double>(threads - 1))
            << policy << " " << Named(workload, threads);
      }
    }
  }
}

// Bounds the shared writes of one visit to files that share no chain head, for any number of
// threads.
TEST(ReplayTest, GlobalLocksAndListsAreSharedWritesOfEachVisit) {
  struct Bounds {
    const char* policy;
    Workload workload;
    double least, most;
  };
  constexpr double kUnbounded = 1e9;
  for (const auto& [policy, workload, least, most] : {
           // The list's lock, its head, and the link of the inode that was first, whose owner finds
           // that line written when it adds its next inode to its LRU.
           Bounds{"H3+L0+U1", Workload::kCreate, 3, 4},
           Bounds{"H3+L0+U1", Workload::kWalk, 3, 4},
           Bounds{"H3+L1+U1", Workload::kCreate, 0, 0},
           Bounds{"H3+L1+U1", Workload::kWalk, 0, 0},
           // The lock and two neighbours, and what their owners find written, on both sides.
           Bounds{"H3+L0+U1", Workload::kUnlink, 3, 5},
           // The LRU's, for each inode that is kept; bulkstat keeps none.
           Bounds{"H3+L1+U0", Workload::kWalk, 3, kUnbounded},
           Bounds{"H3+L1+U0", Workload::kBulkstat, 0, 0},
           // The hash lock, once a visit: no other thread takes it before its end.
           Bounds{"H0+L1+U1", Workload::kWarm, 1, 1},
           Bounds{"H1+L1+U1", Workload::kWarm, 0, 0},  // a hit under RCU
           Bounds{"H0+L1+U1", Workload::kBulkstat, 1, 1},
           Bounds{"H1+L1+U1", Workload::kBulkstat, 1, 1},
       }) {
    for (const size_t threads : {2, 8, 64}) {
      SCOPED_TRACE(policy + (" " + Named(workload, threads)));
      const double writes = SharedApart(policy, workload, threads).writes;
      EXPECT_GE(writes, least);
      EXPECT_LE(writes, most);
    }
  }
}

// A lock that is chosen by the hash of a file belongs to no thread. File ids come in groups of
// eight, so that a thread uses one lock eight times; another thread meets it by chance.
TEST(ReplayTest, ArrayLocksAreSharedMoreAsThreadsOutnumberThem) {
  struct Case {
    const char* policy;
    double locks;
  };
  for (const auto& [policy, locks] : {Case{"H5+L1+U1", 32}, Case{"H8+L3+U1", 64}}) {
    for (const size_t threads : {2, 8, 64}) {
      const auto others = static_cast<double>(threads - 1);
      const PerVisit shared = Shared(PlanOf(policy, Workload::kBulkstat, threads));
      EXPECT_GT(shared.writes, 0) << policy << " " << threads;
      // The lock of a new group was another thread's, or another uses it now; and three times the
      // expected share of chain heads, as below.
      EXPECT_LE(shared.writes, std::min(1.0, 1.0 / 8 + 2 * others / locks) + 3.0 / 16)
          << policy << " " << threads;
    }
  }
}

// In a full cache each thread evicts as many inodes as it allocates: its own.
TEST(ReplayTest, ReclaimStaysOnTheOwnShardOfAShardedLru) {
  for (const size_t threads : {2, 4}) {
    EXPECT_LE(Shared(PlanOf("H3+L1+U1", Workload::kFstree, threads)).writes, 3.0 / 16) << threads;
    EXPECT_GE(Shared(PlanOf("H3+L1+U0", Workload::kFstree, threads)).writes, 3) << threads;
  }
}

// Lines of eight chain heads hold eight files in a row: with 16 buckets a file, one such line in 16
// is shared with other files.
TEST(ReplayTest, ChainHeadsOfALargeTableAreRarelyShared) {
  for (const Workload workload : kOnPrivateFiles) {
    for (const size_t threads : {8, 64}) {
      const PerVisit shared = Shared(PlanOf("H2+L1+U1", workload, threads));
      EXPECT_LE(shared.writes, 3.0 / 16) << Named(workload, threads);
    }
  }
}

}  // namespace
}  // namespace nfswalk::bench
