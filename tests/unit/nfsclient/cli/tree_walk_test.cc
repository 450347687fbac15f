#include "nfsclient/cli/tree_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/memory_mount.h"
#include "tests/fixtures/thread_shortage.h"

namespace nfswalk::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

// Records its calls.
class Recorder : public TreeVisitor {
 public:
  void Enter(const TreeEntry& entry) override {
    seen.push_back("+" + entry.path);
    if (on_enter) on_enter(entry);
  }
  void Leave(const TreeEntry& directory) override { seen.push_back("-" + directory.path); }
  void Fail(const std::string& path, std::errc) override { seen.push_back("!" + path); }
  bool done() const override { return seen.size() >= done_after; }

  std::vector<std::string> seen;
  std::function<void(const TreeEntry&)> on_enter;
  size_t done_after = SIZE_MAX;
};

class TreeWalkTest : public MemoryMount {
 protected:
  TreeWalkTest() { Mount(); }

  void AddDirectories(int count) {
    for (int i = 0; i < count; ++i) {
      server_->Add(kRoot, "d" + std::to_string(i), FileType::kDirectory);
    }
  }
  void Walk(Recorder& recorder, unsigned threads, size_t depth_max = SIZE_MAX,
            const std::string& start = ".") {
    WalkTree(*client_, me_, start, {.threads = threads, .depth_max = depth_max}, recorder);
  }
};

TEST_F(TreeWalkTest, EachDirectoryIsEnteredBeforeAndLeftAfterItsEntriesDownToTheLastLevel) {
  const uint64_t a = server_->Add(kRoot, "a", FileType::kDirectory);
  const uint64_t b = server_->Add(a, "b", FileType::kDirectory);
  server_->Add(b, "link", FileType::kSymlink, "..");
  Recorder recorder, start, one;
  Walk(recorder, 8);
  EXPECT_THAT(recorder.seen,
              ElementsAre("+.", "+./a", "+./a/b", "+./a/b/link", "-./a/b", "-./a", "-."));
  // Nothing below the last level is looked into.
  Walk(start, 4, 0);
  EXPECT_THAT(start.seen, ElementsAre("+."));
  Walk(one, 4, 1);
  EXPECT_THAT(one.seen, ElementsAre("+.", "+./a", "-."));
}

TEST_F(TreeWalkTest, AFileIsATreeAndWhatIsMissingAFailure) {
  server_->Add(kRoot, "f", FileType::kRegular);
  Recorder file, missing;
  Walk(file, 2, SIZE_MAX, "f");
  EXPECT_THAT(file.seen, ElementsAre("+f"));
  Walk(missing, 2, SIZE_MAX, "g");
  EXPECT_THAT(missing.seen, ElementsAre("!g"));
}

TEST_F(TreeWalkTest, WhenTheRestIsInVainNothingMoreIsSeen) {
  AddDirectories(3);
  Recorder recorder;
  recorder.done_after = 2;
  Walk(recorder, 4);
  EXPECT_THAT(recorder.seen, ElementsAre("+.", StartsWith("+./")));
}

TEST_F(TreeWalkTest, TheOrderIsThatOfOneThreadWhateverTheirNumber) {
  std::mt19937 random(7);
  std::vector<uint64_t> directories{kRoot};
  for (int i = 0; i < 3000; ++i) {
    const uint64_t parent = directories[random() % directories.size()];
    const bool directory = random() % 3 == 0;
    const uint64_t added = server_->Add(parent, "n" + std::to_string(i),
                                        directory ? FileType::kDirectory : FileType::kRegular);
    if (directory) directories.push_back(added);
  }
  Recorder alone;
  Walk(alone, 1);
  ASSERT_GT(alone.seen.size(), 3000u);
  for (int round = 0; round < 5; ++round) {
    Recorder together;
    Walk(together, 8);
    ASSERT_EQ(together.seen, alone.seen) << "round " << round;
  }
}

// Each call waits until four run at once: with fewer the test does not end.
TEST_F(TreeWalkTest, ThreadsListDirectoriesAtTheSameTime) {
  AddDirectories(8);
  std::mutex mutex;
  std::condition_variable changed;
  int calls = 0;
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure != "READDIR") return;
    std::unique_lock lock(mutex);
    if (++calls == 1) return;  // the root's, before all others
    changed.notify_all();
    changed.wait(lock, [&] { return calls >= 5; });
  };
  Recorder recorder;
  Walk(recorder, 4);
  EXPECT_EQ(recorder.seen.size(), 18u);
}

TEST_F(TreeWalkTest, ThreadsThatCannotBeStartedAreFewerThreads) {
  AddDirectories(20);
  Recorder alone;
  Walk(alone, 1);
  for (int started = 0; started <= 4; ++started) {
    Recorder recorder;
    {
      const fixtures::ThreadShortage shortage(started);
      Walk(recorder, 4);
      EXPECT_EQ(shortage.occurred(), started < 4);
    }
    EXPECT_EQ(recorder.seen, alone.seen) << started;
  }
}

// A mount that keeps nothing asks for the rights and attributes of each directory of a path.
TEST_F(TreeWalkTest, ADirectoryCostsNoMoreTheDeeperItIs) {
  options_.acdirmin_s = options_.acdirmax_s = 0;
  MountAnew();
  constexpr int kDepth = 100;
  uint64_t directory = kRoot;
  for (int i = 0; i < kDepth; ++i) directory = server_->Add(directory, "d", FileType::kDirectory);
  Recorder recorder;
  EXPECT_LE(Rpcs([&] { Walk(recorder, 1); }), 5u * kDepth);
  EXPECT_EQ(recorder.seen.size(), 2u * (kDepth + 1));
}

// Without a limit the walk would not end.
TEST_F(TreeWalkTest, ATreeDeeperThanAPathIsAFailure) {
  std::string path = ".";
  uint64_t directory = kRoot;
  const std::string name(255, 'n');
  for (; path.size() <= TreeOptions::kPathBytesMax; path += "/" + name) {
    directory = server_->Add(directory, name, FileType::kDirectory);
  }
  server_->Add(directory, "f", FileType::kRegular);
  Recorder recorder;
  Walk(recorder, 2);
  EXPECT_THAT(recorder.seen, Contains("!" + path));
  EXPECT_THAT(recorder.seen, Not(Contains("+" + path + "/f")));
}

// Blocks at the first of many directories until the maximum is listed ahead, and gives the threads
// time to exceed it.
TEST_F(TreeWalkTest, NoMoreIsListedAheadThanIsPromised) {
  AddDirectories(500);
  std::atomic<size_t> listed = 0;
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure == "READDIR") ++listed;
  };
  size_t listed_at_first = 0;
  Recorder recorder;
  recorder.on_enter = [&](const TreeEntry& entry) {
    if (entry.depth == 0 || listed_at_first != 0) return;
    while (listed < 1 + TreeOptions::kAheadDirectories) std::this_thread::yield();
    for (int i = 0; i < 20'000; ++i) std::this_thread::yield();
    listed_at_first = listed;
  };
  Walk(recorder, 8);
  EXPECT_EQ(listed, 501u);
  EXPECT_EQ(listed_at_first, 1 + TreeOptions::kAheadDirectories);
}

}  // namespace
}  // namespace nfswalk::cli
