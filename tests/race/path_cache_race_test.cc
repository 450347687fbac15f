// Changes during a walk that records a prefix, or takes one from the path cache (walk/path_cache.h,
// rcu/change_count.h).
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string_view>
#include <thread>
#include <vector>

#include "rcu/change_count.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

constexpr std::string_view kFile = "a/b/file";

class PathCacheRace : public MemoryMount {
 protected:
  PathCacheRace() {
    Mount();
    a_ = server_->Add(kRoot, "a", FileType::kDirectory);
    b_ = server_->Add(a_, "b", FileType::kDirectory);
    file_ = server_->Add(b_, "file", FileType::kRegular);
  }

  uint64_t path_hits() const { return client_->stats().path_hits; }

  uint64_t a_ = 0, b_ = 0;
  uint64_t file_ = 0;
};

// A directory is moved at each step of a walk that would record its prefix. WALK-18.
TEST_F(PathCacheRace, APrefixThatChangesWhileItIsRecordedIsNotKept) {
  int met = 0;
  for (const std::string_view point :
       {"walk:next-component", "walk:before-child-sample", "walk:after-child-sample"}) {
    for (const std::string_view moved : {"a", "a/b"}) {
      for (int turn = 1; turn <= 24; ++turn) {
        At(point, turn, [&] { Rename(moved, "elsewhere"); });
        for (int i = 0; i < 8 && !reached_; ++i) (void)Stat(kFile);
        rcu::SyncPointScript::ClearAll();
        if (!reached_) continue;
        ++met;
        EXPECT_EQ(Stat(kFile), kMissing) << point << ", turn " << turn;
        Rename("elsewhere", moved);
        EXPECT_EQ(Stat(kFile), file_);
      }
    }
  }
  EXPECT_GT(met, 40);
}

// The prefix was valid when it was taken; then the directory is removed.
TEST_F(PathCacheRace, ADirectoryThatMovesAfterItsPrefixWasUsedIsNoAnswer) {
  for (const std::string_view point : {"walk:next-component", "walk:before-child-sample",
                                       "walk:after-child-sample", "walk:before-confirm"}) {
    Warm(kFile);
    Warm(kFile);
    const uint64_t before = path_hits();
    EXPECT_EQ(Stat(kFile), file_);
    EXPECT_EQ(path_hits(), before + 1) << "the prefix is cached";
    At(point, 1, [&] {
      Rename("a/b/file", "a/b/other");
      Rename("a/b", "a/c");
    });
    EXPECT_EQ(Stat(kFile), kMissing) << point;
    EXPECT_TRUE(reached_);
    rcu::SyncPointScript::ClearAll();
    Rename("a/c", "a/b");
    Rename("a/b/other", "a/b/file");
  }
}

// While a directory is being moved, its prefix is neither used nor recorded.
TEST_F(PathCacheRace, NoPrefixIsUsedWhileADirectoryLeavesItsPlace) {
  std::binary_semaphore asked{0}, answered{0};
  std::atomic<bool> done{false};
  std::vector<uint64_t> hits;  // at each name that is unhashed, the last being `a`
  std::thread asker([&] {
    Warm(kFile);
    Warm(kFile);
    answered.release();
    for (asked.acquire(); !done; asked.acquire()) {
      const uint64_t before = path_hits();
      // The chain of the name is locked: only RCU-walk may run here.
      for (int i = 0; i < 4; ++i) (void)Stat(kFile, {.cached = true});
      hits.push_back(path_hits() - before);
      answered.release();
    }
  });
  answered.acquire();
  EXPECT_GT(path_hits(), 0u);
  rcu::SyncPointScript::OnReach("unhash:window-open", [&] {
    asked.release();
    answered.acquire();
  });
  Rename("a", "elsewhere");
  rcu::SyncPointScript::ClearAll();
  done = true;
  asked.release();
  asker.join();
  ASSERT_FALSE(hits.empty());
  EXPECT_EQ(hits.back(), 0u);
  EXPECT_EQ(Stat(kFile), kMissing);
}

// A change of the root has begun and is not counted as one of the root yet: nothing of it is
// stored, so that the prefix may be used. It must not take the sample of a mount with this change.
TEST_F(PathCacheRace, APrefixUsedWhileAChangeBeginsIsNotValidBehindIt) {
  Warm(kFile);
  Warm(kFile);
  const auto hits = [this] {
    const uint64_t before = path_hits();
    EXPECT_EQ(Stat(kFile), file_);
    return path_hits() - before;
  };
  EXPECT_EQ(hits(), 1u);
  bool used = false;
  rcu::SyncPointScript::OnReach("keyed-change:between-counts", [&] { used = hits() == 1; });
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
  { const nfs::DirectoryChange change(superblock, *superblock.root.inode()); }
  rcu::SyncPointScript::ClearAll();
  EXPECT_TRUE(used);
  EXPECT_EQ(hits(), 0u);
}

// Two overlapping writers: a sample in between is not kept.
TEST(ChangeCountRace, NothingReadDuringAChangeIsKept) {
  struct Shared {
    rcu::ChangeCount count;
    std::atomic<uint64_t> left{0}, right{0};  // equal outside a change
  } shared;
  constexpr int kWrites = 20'000;
  std::atomic<int> writing{2};
  std::mutex one_at_a_time;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kWrites; ++n) {
        rcu::ChangeCount::Change change(shared.count);
        std::lock_guard lock(one_at_a_time);
        shared.left.fetch_add(1, std::memory_order_relaxed);
        shared.right.fetch_add(1, std::memory_order_relaxed);
      }
      --writing;
    });
  }
  uint64_t kept = 0;
  while (writing > 0 || kept == 0) {
    const auto sample = shared.count.TrySample();
    if (!sample) continue;
    const uint64_t left = shared.left.load(std::memory_order_relaxed);
    const uint64_t right = shared.right.load(std::memory_order_relaxed);
    if (!shared.count.Validate(*sample)) continue;
    ASSERT_EQ(left, right);
    ASSERT_EQ(left, *sample);
    ++kept;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.count.TrySample(), std::optional<uint64_t>(2 * kWrites));
}

}  // namespace
}  // namespace nfswalk
