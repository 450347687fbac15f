// task_threads: threads that run tasks of their owner: a thread is started when there is a task for
// one more, and stays for the next.
//
// Thread safety: all functions but the destructor.
#ifndef NFSWALK_THREADS_TASK_THREADS_H_
#define NFSWALK_THREADS_TASK_THREADS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace nfswalk {

class TaskThreads {
 public:
  // Throws nothing but std::bad_alloc, by which it ends. Where a thread runs it, what it owns is
  // destroyed before it counts as ended.
  using Task = std::move_only_function<void()>;
  enum class Turn : uint8_t { kInOrder, kFirst };

  // `waiting_max`: how many tasks may wait for a thread while all `threads_max` run others.
  TaskThreads(size_t threads_max, size_t waiting_max)
      : threads_max_(threads_max), waiting_max_(waiting_max) {}
  ~TaskThreads() { Finish(); }
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  // Has a thread run `task`. False where it has not taken it: as many wait as may, no thread runs
  // or can be started, there is no memory, or Finish() or Stop() was called.
  [[nodiscard]] bool TryRun(Task& task);
  // Has a thread run `task`, once fewer wait than may; runs it itself where there is no thread, or
  // no memory. kFirst: before those that wait.
  void Run(Task task, Turn turn = Turn::kInOrder);
  // Returns when no task waits or runs.
  void Wait();
  // Returns then, or at `deadline`.
  void WaitUntil(std::chrono::steady_clock::time_point deadline);
  // Ends the threads, once they have run all tasks. It takes no others. By one thread at a time, as
  // Stop().
  void Finish() { End(/*drops=*/false); }
  // As Finish(), but tasks that wait are destroyed.
  void Stop() { End(/*drops=*/true); }

 private:
  void End(bool drops);
  void Work();
  // Preconditions, here and below: mutex_.
  bool HasRoom();
  void StartThread();
  void Add(Task&& task, Turn turn);

  const size_t threads_max_;
  const size_t waiting_max_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable added_;
  std::condition_variable ended_;
  std::list<Task> waiting_;  // unlike a deque, one without tasks has no memory
  size_t running_ = 0;
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace nfswalk

#endif  // NFSWALK_THREADS_TASK_THREADS_H_
