#include "nfsclient/mount/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <latch>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "tests/fixtures/thread_shortage.h"

namespace nfswalk::mount {
namespace {

TEST(WorkersTest, EachTaskThatWaitsHasAThread) {
  constexpr int kTasks = 100;
  Workers workers;
  std::latch all(kTasks + 1);  // none goes on before all are there
  std::atomic<int> done = 0;
  for (int i = 0; i < kTasks; ++i) {
    workers.Run([&] {
      all.arrive_and_wait();
      ++done;
    });
  }
  all.arrive_and_wait();
  workers.Finish();
  EXPECT_EQ(done, kTasks);
}

TEST(WorkersTest, ThreadsWithNothingToDoStayForTheNext) {
  constexpr int kTasks = Workers::kThreadsMax / 2;
  Workers workers;
  std::set<std::thread::id> threads;
  for (int i = 0; i < kTasks; ++i) {
    std::latch done(1);
    workers.Run([&] {
      threads.insert(std::this_thread::get_id());
      done.count_down();
    });
    done.wait();
  }
  const std::filesystem::directory_iterator left("/proc/self/task");
  EXPECT_LT(std::distance(left, {}), kTasks) << "a thread may still be on its way back, not all";
  workers.Finish();
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST(WorkersTest, TasksBeyondTheThreadsWait) {
  Workers workers;
  std::latch full(Workers::kThreadsMax);
  std::latch go(1);
  std::atomic<size_t> done = 0;
  for (size_t i = 0; i < Workers::kThreadsMax; ++i) {
    workers.Run([&] {
      full.count_down();
      go.wait();
      ++done;
    });
  }
  full.wait();
  for (int i = 0; i < 10; ++i) workers.Run([&] { ++done; });
  EXPECT_EQ(done, 0U);
  go.count_down();
  workers.Finish();
  EXPECT_EQ(done, Workers::kThreadsMax + 10);
}

TEST(WorkersTest, FinishDoesAllThatIsLeft) {
  std::atomic<int> done = 0;
  {
    Workers workers;
    std::latch go(1);
    for (int i = 0; i < 50; ++i) {
      workers.Run([&] {
        go.wait();
        ++done;
      });
    }
    go.count_down();
    workers.Finish();
    EXPECT_EQ(done, 50);
  }
  EXPECT_EQ(done, 50);
}

TEST(WorkersTest, WithoutThreadsItDoesThemItself) {
  Workers workers;
  std::thread::id thread;
  {
    const fixtures::ThreadShortage shortage(0);
    workers.Run([&] { thread = std::this_thread::get_id(); });
    EXPECT_TRUE(shortage.occurred());
  }
  EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST(WorkersTest, TasksThatGetNoThreadWaitForOne) {
  Workers workers;
  std::latch go(1);
  std::atomic<int> done = 0;
  const auto task = [&] {
    go.wait();
    ++done;
  };
  workers.Run(task);
  {
    const fixtures::ThreadShortage shortage(0);
    workers.Run(task);
    EXPECT_TRUE(shortage.occurred());
  }
  go.count_down();
  workers.Finish();
  EXPECT_EQ(done, 2);
}

// What a task owns is gone before Finish() returns.
TEST(WorkersTest, TasksAreDestroyedWhenTheyAreDone) {
  Workers workers;
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> left = owned;
  workers.Run([owned = std::move(owned)] {});
  workers.Finish();
  EXPECT_TRUE(left.expired());
}

}  // namespace
}  // namespace nfswalk::mount
