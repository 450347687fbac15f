// workers: threads for requests that may wait for the server, so that those which receive requests
// never do.
//
// There is a thread for each request that waits, since those behind a dead server must not hold up
// others; a thread that has nothing to do stays for the next.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_WORKERS_H_
#define NFSWALK_NFSCLIENT_MOUNT_WORKERS_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace nfswalk::mount {

class Workers {
 public:
  // Requests beyond so many wait for one of these to end. The kernel sends one for each thread that
  // is in a call, and a few of its own.
  static constexpr size_t kThreadsMax = 1024;

  Workers() = default;
  ~Workers() { Finish(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  using Task = std::move_only_function<void()>;
  // Runs it on a thread of its own, or on this one if there can be none.
  void Run(Task task);
  // Ends the threads when all of them are done. No Run() may follow.
  void Finish();

 private:
  void StartThread();
  void Work();

  std::mutex mutex_;  // guards what follows
  std::condition_variable added_;
  std::deque<Task> tasks_;
  std::vector<std::jthread> threads_;
  size_t idle_ = 0;
  bool ending_ = false;
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_WORKERS_H_
