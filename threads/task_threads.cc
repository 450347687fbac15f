#include "threads/task_threads.h"

#include <list>
#include <new>
#include <system_error>
#include <utility>

namespace nfswalk {

bool TaskThreads::TryRun(Task& task) try {
  const std::lock_guard lock(mutex_);
  if (!HasRoom()) return false;
  Add(std::move(task), Turn::kInOrder);
  return true;
} catch (const std::bad_alloc&) {  // `task` is still there
  return false;
}

void TaskThreads::Run(Task task, Turn turn) {
  try {
    std::unique_lock lock(mutex_);
    while (!HasRoom() && !threads_.empty()) ended_.wait(lock);
    if (!threads_.empty()) return Add(std::move(task), turn);
  } catch (const std::bad_alloc&) {  // `task` is still there
  }
  task();
}

void TaskThreads::Wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return waiting_.empty() && running_ == 0; });
}

void TaskThreads::WaitUntil(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  ended_.wait_until(lock, deadline, [this] { return waiting_.empty() && running_ == 0; });
}

void TaskThreads::End(bool drops) {
  std::vector<std::jthread> threads;  // joined without the lock
  std::list<Task> dropped;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    threads.swap(threads_);
    if (drops) dropped.swap(waiting_);
  }
  added_.notify_all();
  ended_.notify_all();
  dropped.clear();  // without the lock, and before it waits
}

// Starts a thread where all have a task, and one more may run.
bool TaskThreads::HasRoom() {
  if (ending_) return false;
  const size_t tasks = waiting_.size() + running_;
  if (tasks >= threads_.size() && threads_.size() < threads_max_) StartThread();
  const size_t threads = threads_.size();
  return threads != 0 && (tasks < threads || tasks - threads < waiting_max_);
}

// Without it those do that are there.
void TaskThreads::StartThread() try {
  threads_.emplace_back([this] { Work(); });
} catch (const std::system_error&) {
}

void TaskThreads::Add(Task&& task, Turn turn) {
  if (turn == Turn::kFirst) {
    waiting_.push_front(std::move(task));
  } else {
    waiting_.push_back(std::move(task));
  }
  added_.notify_one();
}

void TaskThreads::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_.wait(lock, [this] { return !waiting_.empty() || ending_; });
    if (waiting_.empty()) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    try {
      task();
    } catch (const std::bad_alloc&) {  // it has ended
    }
    task = nullptr;
    lock.lock();
    --running_;
    ended_.notify_all();
  }
}

}  // namespace nfswalk
