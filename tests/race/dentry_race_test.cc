// Renames, drops and reclaim against lockless lookups.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rcu/sync_point.h"
#include "tests/fixtures/interleavings.h"
#include "tests/unit/nfsclient/vfs/cached_tree.h"

namespace nfswalk::vfs {
namespace {

class DentryRace : public testing::Test {
 protected:
  ~DentryRace() override { rcu::SyncPointScript::ClearAll(); }

  // Runs `act` on another thread when the point is reached for the first time.
  static void OnceElsewhere(const char* point, std::function<void()> act) {
    OnceAt(point, [act = std::move(act)] { Elsewhere(act); });
  }
  void Settle() {
    settled_ = true;
    settled_.notify_all();
  }

  CachedTree tree_;
  std::atomic<bool> settled_{false};
};

TEST_F(DentryRace, InsertDropLookupAndPruneOnFewNames) {
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
TEST_F(DentryRace, ADentryReclaimedWhileItsLastReferenceGoesIsLeftAlone) {
  DentryRef file = tree_.Add(tree_.root(), "file", 2);
  size_t pruned = 0;
  OnceElsewhere("dentry-put:before-lock", [&] {
    { DentryRef again = tree_.Lookup(tree_.root(), "file"); }
    pruned = tree_.dentries().Prune(1);
  });
  file = {};
  EXPECT_EQ(pruned, 1u);
  EXPECT_FALSE(tree_.Lookup(tree_.root(), "file"));
  EXPECT_EQ(tree_.dentries().size(), 1u);
}

// A moving dentry is in neither chain; a drop then waits for the move and wins.
TEST_F(DentryRace, ADropDuringAMoveIsNotLost) {
  DentryRef file = tree_.Add(tree_.root(), "old", 2);
  std::atomic<bool> waited{false};
  std::thread dropper;
  rcu::SyncPointScript::OnReach("move:between-chains", [&] {
    dropper = std::thread([&] {
      tree_.dentries().Drop(*file);
      Settle();
    });
    settled_.wait(false);
  });
  rcu::SyncPointScript::OnReach("dentry:wait-for-unhash", [&] {
    waited = true;
    Settle();
  });
  ASSERT_EQ(tree_.Move(file, tree_.root(), "new"), std::errc{});
  dropper.join();
  EXPECT_TRUE(waited);
  rcu::SyncPointScript::ClearAll();
  EXPECT_FALSE(tree_.Lookup(tree_.root(), "new"));
  EXPECT_FALSE(tree_.Lookup(tree_.root(), "old"));
}

// The caller may free or move a dentry that it finds unhashed, so no other thread may still write
// its sequence: a drop that meets another one waits for its end.
TEST_F(DentryRace, ADropReturnsOnlyOnceNoSampleHoldsAnyMore) {
  DentryRef file = tree_.Add(tree_.root(), "file", 2);
  const uint64_t sample = file->seq.Begin();
  std::atomic<bool> holds{false};
  std::thread second;
  rcu::SyncPointScript::OnReach("unhash:window-open", [&] {
    second = std::thread([&] {
      tree_.dentries().Drop(*file);
      holds = !file->seq.Changed(sample);
      Settle();
    });
    settled_.wait(false);
  });
  rcu::SyncPointScript::OnReach("dentry:wait-for-unhash", [&] { Settle(); });
  tree_.dentries().Drop(*file);
  second.join();
  rcu::SyncPointScript::ClearAll();
  EXPECT_FALSE(holds);
  EXPECT_FALSE(file->seq.Changed(file->seq.Begin()));
}

// Two concurrent writers could leave the sequence odd, and lookups of the name spinning.
TEST_F(DentryRace, AMoveDuringADropWaitsForItsEnd) {
  DentryRef file = tree_.Add(tree_.root(), "old", 2);
  std::atomic<bool> dropped{false}, open{false};
  std::thread mover;
  rcu::SyncPointScript::OnReach("unhash:window-open", [&] {
    mover = std::thread([&] { EXPECT_EQ(tree_.Move(file, tree_.root(), "new"), std::errc{}); });
    settled_.wait(false);
  });
  rcu::SyncPointScript::OnReach("dentry:wait-for-unhash", [&] { Settle(); });
  rcu::SyncPointScript::OnReach("move:between-chains", [&] {
    open = file->seq.Changed(file->seq.Begin());
    Settle();
    dropped.wait(false);
  });
  tree_.dentries().Drop(*file);
  dropped = true;
  dropped.notify_all();
  mover.join();
  rcu::SyncPointScript::ClearAll();
  EXPECT_TRUE(open);
  ASSERT_FALSE(file->seq.Changed(file->seq.Begin()));
  EXPECT_EQ(tree_.FindRcu(tree_.root(), "new"), 2u);
  EXPECT_FALSE(tree_.Lookup(tree_.root(), "old"));
}

// A lookup that finds the name in its new place never sees the old verifier (NAME-13).
TEST_F(DentryRace, AMovedDentryIsNotFoundBeforeItHasItsNewVerifier) {
  DentryRef file = tree_.Add(tree_.root(), "old", 2);
  constexpr uint64_t kMoves = 20'000;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, found{0};
  std::thread walker([&] {
    while (!stop) {
      for (uint64_t verifier = 0; verifier < 2; ++verifier) {
        PaddedName name(verifier == 0 ? "even" : "odd", tree_.root().get());
        rcu::ReadGuard guard;
        uint64_t seq = 0;
        const Dentry* dentry = tree_.dentries().FindRcu(tree_.root().get(), name.name(), &seq);
        if (dentry == nullptr) continue;
        const uint64_t seen = dentry->verifier.load();
        if (dentry->seq.Changed(seq)) continue;
        ++found;
        wrong += seen % 2 != verifier;
      }
    }
  });
  for (uint64_t i = 1; i <= kMoves || found < 100; ++i) {
    ASSERT_EQ(tree_.Move(file, tree_.root(), i % 2 == 0 ? "even" : "odd", i), std::errc{});
  }
  stop = true;
  walker.join();
  EXPECT_EQ(wrong, 0u);
}

// Reclaim marks a dentry dead long before it unhashes it. A thread that removes the name on the
// server meanwhile finds nothing to drop, and must not find the name afterwards.
TEST_F(DentryRace, ADyingDentryIsFoundByNoLookup) {
  tree_.Add(tree_.root(), "file", 2);
  bool looked_up = true;
  uint64_t seen = 0;
  OnceElsewhere("dentry:dying", [&] {
    looked_up = static_cast<bool>(tree_.Lookup(tree_.root(), "file"));
    seen = tree_.FindRcu(tree_.root(), "file");
  });
  EXPECT_EQ(tree_.dentries().Prune(1), 1u);
  EXPECT_FALSE(looked_up);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(tree_.dentries().size(), 1u);
}

// As above: the dying dentry is not found again when its successor is dropped.
TEST_F(DentryRace, ANameInsertedBesideItsDyingDentryIsTheOnlyOne) {
  tree_.Add(tree_.root(), "file", 2);
  uint64_t inserted = 0, seen = 0;
  OnceElsewhere("dentry:dying", [&] {
    DentryRef file = tree_.Add(tree_.root(), "file", 3);
    inserted = tree_.FindRcu(tree_.root(), "file");
    tree_.dentries().Drop(*file);
    seen = tree_.FindRcu(tree_.root(), "file");
  });
  EXPECT_EQ(tree_.dentries().Prune(1), 1u);
  EXPECT_EQ(inserted, 3u);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(tree_.dentries().size(), 1u);
}
#endif

}  // namespace
}  // namespace nfswalk::vfs
