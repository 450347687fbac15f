// Renames, drops and reclaim against lockless lookups.

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "rcu/sync_point.h"
#include "tests/unit/nfsclient/vfs/cached_tree.h"

namespace nfswalk::vfs {
namespace {

TEST(DentryRace, InsertDropLookupAndPruneOnFewNames) {
  CachedTree tree(64);
  constexpr int kThreads = 4, kRounds = 20'000, kNames = 100;
  std::atomic<uint64_t> wrong{0}, hits{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      uint64_t random = t * 7919 + 1;
      for (int i = 0; i < kRounds; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint64_t which = (random >> 33) % kNames;
        const std::string name = "name" + std::to_string(which);
        DentryRef dentry =
            i % 3 == 0 ? tree.Add(tree.root(), name, 100 + which) : tree.Lookup(tree.root(), name);
        if (dentry) {
          ++hits;
          wrong += dentry.inode()->fileid != 100 + which;
          if (i % 7 == 0) tree.dentries().Drop(*dentry);
        }
        const uint64_t seen = tree.FindRcu(tree.root(), name);
        wrong += seen != 0 && seen != 100 + which;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(hits, static_cast<uint64_t>(kRounds));
  EXPECT_LE(tree.dentries().size(), 64u + 2 * kThreads);
}

#ifndef NDEBUG
// The last reference is dropped before the lock is taken: the dentry may be used and reclaimed in
// between, and the dropping thread must not touch it.
TEST(DentryRace, ADentryReclaimedWhileItsLastReferenceGoesIsLeftAlone) {
  CachedTree tree;
  DentryRef file = tree.Add(tree.root(), "file", 2);
  size_t pruned = 0;
  rcu::SyncPointScript::OnReach("dentry-put:before-lock", [&] {
    rcu::SyncPointScript::ClearAll();
    std::thread([&] {
      { DentryRef again = tree.Lookup(tree.root(), "file"); }
      pruned = tree.dentries().Prune(1);
    }).join();
  });
  file = {};
  EXPECT_EQ(pruned, 1u);
  EXPECT_FALSE(tree.Lookup(tree.root(), "file"));
  EXPECT_EQ(tree.dentries().size(), 1u);
}

// A moving dentry is in neither chain; a drop then waits for the move and wins.
TEST(DentryRace, ADropDuringAMoveIsNotLost) {
  CachedTree tree;
  DentryRef file = tree.Add(tree.root(), "old", 2);
  std::thread dropper;
  rcu::SyncPointScript::OnReach(
      "move:between-chains", [&] { dropper = std::thread([&] { tree.dentries().Drop(*file); }); });
  ASSERT_EQ(tree.Move(file, tree.root(), "new"), std::errc{});
  dropper.join();
  rcu::SyncPointScript::ClearAll();
  EXPECT_FALSE(tree.Lookup(tree.root(), "new"));
  EXPECT_FALSE(tree.Lookup(tree.root(), "old"));
}

// The caller may free or move a dentry that it finds unhashed, so no other thread may still write
// its sequence: a drop that meets another one waits for its end.
TEST(DentryRace, ADropReturnsOnlyOnceNoSampleHoldsAnyMore) {
  CachedTree tree;
  DentryRef file = tree.Add(tree.root(), "file", 2);
  const uint64_t sample = file->seq.Begin();
  std::atomic<bool> settled{false}, holds{false};
  auto settle = [&] {
    settled = true;
    settled.notify_all();
  };
  std::thread second;
  rcu::SyncPointScript::OnReach("unhash:window-open", [&] {
    second = std::thread([&] {
      tree.dentries().Drop(*file);
      holds = !file->seq.Changed(sample);
      settle();
    });
    settled.wait(false);
  });
  rcu::SyncPointScript::OnReach("dentry:wait-for-unhash", settle);
  tree.dentries().Drop(*file);
  second.join();
  rcu::SyncPointScript::ClearAll();
  EXPECT_FALSE(holds);
  EXPECT_FALSE(file->seq.Changed(file->seq.Begin()));
}

// Two concurrent writers could leave the sequence odd, and lookups of the name spinning.
TEST(DentryRace, AMoveDuringADropWaitsForItsEnd) {
  CachedTree tree;
  DentryRef file = tree.Add(tree.root(), "old", 2);
  std::atomic<bool> settled{false}, dropped{false}, open{false};
  auto settle = [&] {
    settled = true;
    settled.notify_all();
  };
  std::thread mover;
  rcu::SyncPointScript::OnReach("unhash:window-open", [&] {
    mover = std::thread([&] { EXPECT_EQ(tree.Move(file, tree.root(), "new"), std::errc{}); });
    settled.wait(false);
  });
  rcu::SyncPointScript::OnReach("dentry:wait-for-unhash", settle);
  rcu::SyncPointScript::OnReach("move:between-chains", [&] {
    open = file->seq.Changed(file->seq.Begin());
    settle();
    dropped.wait(false);
  });
  tree.dentries().Drop(*file);
  dropped = true;
  dropped.notify_all();
  mover.join();
  rcu::SyncPointScript::ClearAll();
  EXPECT_TRUE(open);
  ASSERT_FALSE(file->seq.Changed(file->seq.Begin()));
  EXPECT_EQ(tree.FindRcu(tree.root(), "new"), 2u);
  EXPECT_FALSE(tree.Lookup(tree.root(), "old"));
}

// A lookup that finds the name in its new place never sees the old verifier (NAME-13).
TEST(DentryRace, AMovedDentryIsNotFoundBeforeItHasItsNewVerifier) {
  CachedTree tree;
  DentryRef file = tree.Add(tree.root(), "old", 2);
  constexpr uint64_t kMoves = 20'000;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, found{0};
  std::thread walker([&] {
    while (!stop) {
      for (uint64_t verifier = 0; verifier < 2; ++verifier) {
        PaddedName name(verifier == 0 ? "even" : "odd", tree.root().get());
        rcu::ReadGuard guard;
        uint64_t seq = 0;
        const Dentry* dentry = tree.dentries().FindRcu(tree.root().get(), name.name(), &seq);
        if (dentry == nullptr) continue;
        const uint64_t seen = dentry->verifier.load();
        if (dentry->seq.Changed(seq)) continue;
        ++found;
        wrong += seen % 2 != verifier;
      }
    }
  });
  for (uint64_t i = 1; i <= kMoves || found < 100; ++i) {
    ASSERT_EQ(tree.Move(file, tree.root(), i % 2 == 0 ? "even" : "odd", i), std::errc{});
  }
  stop = true;
  walker.join();
  EXPECT_EQ(wrong, 0u);
}

// Reclaim marks a dentry dead long before it unhashes it. A thread that removes the name on the
// server meanwhile finds nothing to drop, and must not find the name afterwards.
TEST(DentryRace, ADyingDentryIsFoundByNoLookup) {
  CachedTree tree;
  tree.Add(tree.root(), "file", 2);
  bool looked_up = true;
  uint64_t seen = 0;
  rcu::SyncPointScript::OnReach("dentry:dying", [&] {
    rcu::SyncPointScript::ClearAll();
    std::thread([&] {
      looked_up = static_cast<bool>(tree.Lookup(tree.root(), "file"));
      seen = tree.FindRcu(tree.root(), "file");
    }).join();
  });
  EXPECT_EQ(tree.dentries().Prune(1), 1u);
  EXPECT_FALSE(looked_up);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(tree.dentries().size(), 1u);
}

// As above: the dying dentry is not found again when its successor is dropped.
TEST(DentryRace, ANameInsertedBesideItsDyingDentryIsTheOnlyOne) {
  CachedTree tree;
  tree.Add(tree.root(), "file", 2);
  uint64_t inserted = 0, seen = 0;
  rcu::SyncPointScript::OnReach("dentry:dying", [&] {
    rcu::SyncPointScript::ClearAll();
    std::thread([&] {
      DentryRef file = tree.Add(tree.root(), "file", 3);
      inserted = tree.FindRcu(tree.root(), "file");
      tree.dentries().Drop(*file);
      seen = tree.FindRcu(tree.root(), "file");
    }).join();
  });
  EXPECT_EQ(tree.dentries().Prune(1), 1u);
  EXPECT_EQ(inserted, 3u);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(tree.dentries().size(), 1u);
}
#endif

}  // namespace
}  // namespace nfswalk::vfs
