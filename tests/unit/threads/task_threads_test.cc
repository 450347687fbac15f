#include "threads/task_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <latch>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "tests/fixtures/thread_shortage.h"

namespace nfswalk {
namespace {

constexpr size_t kMany = 1024;

TEST(TaskThreadsTest, EachTaskThatWaitsHasAThread) {
  constexpr int kTasks = 100;
  TaskThreads threads(kMany, SIZE_MAX);
  std::latch all(kTasks + 1);  // none goes on before all are there
  std::atomic<int> done = 0;
  for (int i = 0; i < kTasks; ++i) {
    threads.Run([&] {
      all.arrive_and_wait();
      ++done;
    });
  }
  all.arrive_and_wait();
  threads.Finish();
  EXPECT_EQ(done, kTasks);
}

TEST(TaskThreadsTest, ThreadsWithNothingToDoStayForTheNext) {
  constexpr int kTasks = kMany / 2;
  TaskThreads threads(kMany, SIZE_MAX);
  std::set<std::thread::id> used;
  for (int i = 0; i < kTasks; ++i) {
    std::latch done(1);
    threads.Run([&] {
      used.insert(std::this_thread::get_id());
      done.count_down();
    });
    done.wait();
  }
  const std::filesystem::directory_iterator left("/proc/self/task");
  EXPECT_LT(std::distance(left, {}), kTasks) << "a thread may still be on its way back, not all";
  threads.Finish();
  EXPECT_FALSE(used.contains(std::this_thread::get_id()));
}

// Threads of which each runs a task until it is told to go on.
class BusyThreads {
 public:
  BusyThreads(size_t threads_max, size_t waiting_max)
      : threads(threads_max, waiting_max), running_(static_cast<std::ptrdiff_t>(threads_max)) {
    for (size_t i = 0; i < threads_max; ++i) {
      threads.Run([this] {
        running_.count_down();
        go_.wait();
        ++done;
      });
    }
    running_.wait();
  }
  ~BusyThreads() {
    GoOn();
    threads.Finish();
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

  void GoOn() {
    if (!go_.try_wait()) go_.count_down();
  }

  std::atomic<size_t> done = 0;
  TaskThreads threads;

 private:
  std::latch running_;
  std::latch go_{1};
};

TEST(TaskThreadsTest, TasksBeyondTheThreadsWait) {
  BusyThreads busy(kMany, SIZE_MAX);
  for (int i = 0; i < 10; ++i) busy.threads.Run([&] { ++busy.done; });
  EXPECT_EQ(busy.done, 0U);
  busy.GoOn();
  busy.threads.Finish();
  EXPECT_EQ(busy.done, kMany + 10);
}

TEST(TaskThreadsTest, NoMoreTasksWaitThanMay) {
  for (const size_t waiting_max : {0, 1, 3}) {
    BusyThreads busy(2, waiting_max);
    TaskThreads::Task task;
    for (size_t i = 0; i < waiting_max; ++i) {
      task = [&] { ++busy.done; };
      EXPECT_TRUE(busy.threads.TryRun(task)) << i;
    }
    task = [&] { ++busy.done; };
    EXPECT_FALSE(busy.threads.TryRun(task)) << waiting_max;
    ASSERT_TRUE(static_cast<bool>(task)) << "it is the caller's";
    EXPECT_EQ(busy.done, 0U);
    busy.GoOn();
    busy.threads.Wait();
    EXPECT_EQ(busy.done, 2 + waiting_max);
    EXPECT_TRUE(busy.threads.TryRun(task));
    busy.threads.Wait();
    EXPECT_EQ(busy.done, 3 + waiting_max);
  }
}

// A task that runs has been followed by no more than may wait for it.
TEST(TaskThreadsTest, RunWaitsForRoom) {
  constexpr size_t kTasks = 20'000, kWaiting = 3;
  TaskThreads threads(1, kWaiting);
  std::atomic<size_t> handed_over = 0;
  size_t begun = 0, most = 0;  // of the one thread
  for (size_t i = 0; i < kTasks; ++i) {
    threads.Run([&] {
      ++begun;
      const size_t now = handed_over;
      if (now > begun) most = std::max(most, now - begun);
    });
    ++handed_over;
  }
  threads.Wait();
  EXPECT_EQ(begun, kTasks);
  EXPECT_LE(most, kWaiting);
  EXPECT_GT(most, 0U) << "no task has waited";
}

TEST(TaskThreadsTest, TheFirstIsRunBeforeThoseThatWait) {
  BusyThreads busy(1, SIZE_MAX);
  std::string order;
  busy.threads.Run([&] { order += 'a'; });
  busy.threads.Run([&] { order += 'b'; });
  busy.threads.Run([&] { order += 'c'; }, TaskThreads::Turn::kFirst);
  busy.GoOn();
  busy.threads.Wait();
  EXPECT_EQ(order, "cab");
}

TEST(TaskThreadsTest, FinishRunsAllThatIsLeftAndStopDropsIt) {
  for (const bool stops : {false, true}) {
    BusyThreads busy(2, SIZE_MAX);
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> left = owned;
    busy.threads.Run([&busy, owned = std::move(owned)] { ++busy.done; });
    std::latch ending(1);
    std::jthread ends([&] {
      ending.count_down();
      stops ? busy.threads.Stop() : busy.threads.Finish();
    });
    ending.wait();
    // It has taken the tasks once it takes no others; which threads they have cannot be seen
    // before.
    if (stops) {
      while (!left.expired()) std::this_thread::yield();
    }
    busy.GoOn();
    ends.join();
    EXPECT_EQ(busy.done, stops ? 2U : 3U);
    EXPECT_TRUE(left.expired()) << "a task is destroyed when it is done, or dropped";
    TaskThreads::Task late = [] {};
    EXPECT_FALSE(busy.threads.TryRun(late));
  }
}

TEST(TaskThreadsTest, WithoutThreadsItRunsThemItself) {
  TaskThreads none(0, SIZE_MAX);
  TaskThreads threads(2, 0);
  std::set<std::thread::id> used;
  none.Run([&] { used.insert(std::this_thread::get_id()); });
  TaskThreads::Task task = [&] { used.insert(std::this_thread::get_id()); };
  {
    const fixtures::ThreadShortage shortage(0);
    threads.Run([&] { used.insert(std::this_thread::get_id()); });
    EXPECT_FALSE(threads.TryRun(task));
    EXPECT_TRUE(shortage.occurred());
  }
  EXPECT_EQ(used, std::set{std::this_thread::get_id()});
  EXPECT_TRUE(threads.TryRun(task));
  threads.Wait();
  EXPECT_EQ(used.size(), 2U);
}

TEST(TaskThreadsTest, TasksThatGetNoThreadWaitForOne) {
  TaskThreads threads(kMany, SIZE_MAX);
  std::latch go(1);
  std::atomic<int> done = 0;
  const auto task = [&] {
    go.wait();
    ++done;
  };
  threads.Run(task);
  {
    const fixtures::ThreadShortage shortage(0);
    threads.Run(task);
    EXPECT_TRUE(shortage.occurred());
  }
  go.count_down();
  threads.Finish();
  EXPECT_EQ(done, 2);
}

TEST(TaskThreadsTest, ATaskThatLacksMemoryHasEnded) {
  TaskThreads threads(1, SIZE_MAX);
  std::atomic<int> done = 0;
  threads.Run([] { throw std::bad_alloc(); });
  threads.Run([&] { ++done; });
  threads.Wait();
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace nfswalk
