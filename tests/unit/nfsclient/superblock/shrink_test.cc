// Caches under a shortage of memory: INODE-26.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "nfsclient/memory/memory_watcher.h"
#include "nfsclient/superblock/superblock.h"
#include "rcu/defer.h"
#include "rcu/page_region.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/memory_mount.h"
#include "tests/unit/nfsclient/memory/kernel_files.h"

namespace nfswalk {
namespace {

constexpr size_t kFiles = 20'000;
// The root and the directory.
constexpr size_t kDirectories = 2;

class ShrinkTest : public MemoryMount {
 protected:
  void CacheFiles() {
    NewServer();
    const uint64_t d = server_->Add(kRoot, "d", FileType::kDirectory);
    for (size_t i = 0; i < kFiles; ++i) server_->Add(d, NameOf(i), FileType::kRegular);
    Mount();
    List("d");
    ASSERT_EQ(client_->stats().dentries, kFiles + kDirectories);
    ASSERT_EQ(client_->stats().inodes, kFiles + kDirectories);
  }
  static std::string NameOf(size_t file) { return "f" + std::to_string(file); }
  nfs::Superblock& superblock() { return ClientInternals::SuperblockOf(*client_); }
};

TEST_F(ShrinkTest, AQuarterIsGivenUpAndTheMemoryHandedBack) {
  CacheFiles();
  const size_t mapped = rcu::PageRegion::mapped_bytes();
  superblock().Shrink();
  const Stats stats = client_->stats();
  constexpr size_t kLeft = (kFiles + kDirectories) / 4 * 3 + kDirectories;
  EXPECT_EQ(stats.dentries_max, kLeft);
  EXPECT_EQ(stats.inodes_max, kLeft);
  EXPECT_EQ(stats.dentries, kLeft);
  EXPECT_EQ(stats.inodes, kLeft);
  EXPECT_EQ(stats.shrinks, 1u);
  EXPECT_EQ(stats.shrunk_objects, 2 * (kFiles + kDirectories - kLeft));
  rcu::Barrier();
  // Bytes of the dentries and inodes that went; slabs that hold others too stay.
  const size_t gone = (kFiles - kLeft) * (sizeof(vfs::Dentry) + sizeof(icache::Inode));
  EXPECT_LE(rcu::PageRegion::mapped_bytes(), mapped - gone * 4 / 5);
}

TEST_F(ShrinkTest, RemainderIsTheLimitUntilTheCachesGrow) {
  options_.dentries_max = options_.inodes_max = 100'000;
  options_.access_entries_max = 30'000;
  CacheFiles();
  superblock().Shrink();
  const uint64_t limit = client_->stats().dentries_max;
  for (size_t i = 0; i < kFiles; ++i) ASSERT_TRUE(IsFile(Stat("d/" + NameOf(i))));
  constexpr size_t kBatch = 64;  // freed at a time
  EXPECT_LE(client_->stats().dentries, limit + kBatch);
  EXPECT_LE(client_->stats().inodes, limit + limit / 32);
  EXPECT_FALSE(superblock().Grow());
  EXPECT_EQ(client_->stats().dentries_max, 2 * limit);
  EXPECT_EQ(client_->stats().inodes_max, 2 * limit);
  EXPECT_EQ(client_->stats().access_entries_max, 2 * nfs::kLeastObjects);
  EXPECT_FALSE(superblock().Grow());
  EXPECT_EQ(client_->stats().access_entries_max, *options_.access_entries_max);
  EXPECT_TRUE(superblock().Grow());
  EXPECT_EQ(client_->stats().dentries_max, *options_.dentries_max);
  EXPECT_EQ(client_->stats().inodes_max, *options_.inodes_max);
  EXPECT_EQ(client_->stats().access_entries_max, *options_.access_entries_max);
}

TEST_F(ShrinkTest, AFloorAndWhatIsInUseStay) {
  CacheFiles();
  const auto node = client_->Resolve("d/" + NameOf(0), me_);
  ASSERT_TRUE(node);
  for (int i = 0; i < 5; ++i) superblock().Shrink();
  const Stats stats = client_->stats();
  EXPECT_EQ(stats.dentries_max, nfs::kLeastObjects);
  EXPECT_EQ(stats.dentries, nfs::kLeastObjects);
  EXPECT_EQ(stats.inodes, nfs::kLeastObjects);
  EXPECT_EQ(Rpcs([&] { EXPECT_TRUE((*node)->Stat("", me_)); }), 0u);
}

TEST_F(ShrinkTest, SmallerLimitsOfTheMountStay) {
  options_.dentries_max = 7;
  options_.inodes_max = 8;
  options_.access_entries_max = 9;
  NewServer();
  Mount();
  superblock().Shrink();
  EXPECT_EQ(client_->stats().dentries_max, 7u);
  EXPECT_EQ(client_->stats().inodes_max, 8u);
  EXPECT_EQ(client_->stats().access_entries_max, 9u);
  EXPECT_TRUE(superblock().Grow());
  EXPECT_EQ(client_->stats().dentries_max, 7u);
}

// From a counter of the kernel's to the caches, and back.
class MemoryWatcherTest : public ShrinkTest, protected nfs::KernelFiles {
 protected:
  MemoryWatcherTest() {
    EnterCgroup("/a");
    Write("/sys/fs/cgroup/a/memory.high", "1000000\n");
    Write(kEvents, "high 0\n");
  }
  static constexpr char kEvents[] = "/sys/fs/cgroup/a/memory.events";
};

struct CountingCaches {
  std::atomic<int> shrinks{0}, grows{0};

  nfs::MemoryWatcher::Caches caches() {
    return {.shrink = [](void* self) { ++static_cast<CountingCaches*>(self)->shrinks; },
            .grow = [](void* self) { return ++static_cast<CountingCaches*>(self)->grows == 3; },
            .object = this};
  }
  static void Await(const std::atomic<int>& count, int value) {
    while (count < value) std::this_thread::yield();
  }
};

TEST_F(MemoryWatcherTest, AllMountsShrinkAndGrowUntilTheyAreWhole) {
  using std::chrono::milliseconds;
  auto watcher = std::make_shared<nfs::MemoryWatcher>(
      root_, nfs::MemoryWatcher::Times{.interval = milliseconds(1), .calm = milliseconds(1)});
  CountingCaches first, second;
  const nfs::MemoryWatch first_watch(watcher, first.caches());
  {
    const nfs::MemoryWatch second_watch(watcher, second.caches());
    Write(kEvents, "high 1\n");
    CountingCaches::Await(first.grows, 3);
    CountingCaches::Await(second.grows, 3);
    EXPECT_EQ(first.shrinks, 1);
    EXPECT_EQ(second.shrinks, 1);
  }
  first.grows = 0;
  Write(kEvents, "high 2\n");
  CountingCaches::Await(first.grows, 3);
  EXPECT_EQ(first.shrinks, 2);
  EXPECT_EQ(second.shrinks, 1);
}

TEST_F(MemoryWatcherTest, AMountShrinksWhenTheCgroupReachesItsHighLimit) {
  CacheFiles();
  superblock().WatchMemory(std::make_shared<nfs::MemoryWatcher>(root_));
  Write(kEvents, "high 1\n");
  while (client_->stats().shrinks == 0) std::this_thread::yield();
  EXPECT_LT(client_->stats().dentries, kFiles);
  // Waits for the watcher.
  client_.reset();
}

TEST_F(MemoryWatcherTest, AMountIsWatchedOnceItHasSomethingToGiveUp) {
  MountAnew();
  EXPECT_EQ(nfs::MemoryWatcher::OfProcess().use_count(), 1);
  CacheFiles();
  EXPECT_EQ(nfs::MemoryWatcher::OfProcess().use_count(), 2);
  client_.reset();
  EXPECT_EQ(nfs::MemoryWatcher::OfProcess().use_count(), 1);
}

TEST_F(MemoryWatcherTest, AWatcherGoesWithItsLastMount) {
  const std::weak_ptr<nfs::MemoryWatcher> shared = nfs::MemoryWatcher::OfProcess();
  EXPECT_TRUE(shared.expired());
  const auto held = nfs::MemoryWatcher::OfProcess();
  EXPECT_EQ(held, nfs::MemoryWatcher::OfProcess());
}

}  // namespace
}  // namespace nfswalk
