// copy_threads: copies of files in flight at once.
//
// Thread safety: Start() and Wait() by the thread that constructed it.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_COPY_THREADS_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_COPY_THREADS_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace nfswalk::cli {

class CopyThreads {
 public:
  // As many as can be started. 1: copies are made by the calling thread, one by one.
  explicit CopyThreads(unsigned threads);
  ~CopyThreads();  // as Wait()
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;

  enum class Turn { kFirst, kInOrder };
  // Runs `copy`, which does not throw, soon. Waits while many others wait for their turn. kFirst:
  // before those, as others will wait for it.
  void Start(std::function<void()> copy, Turn turn = Turn::kInOrder);
  // Returns when all have ended.
  void Wait();

 private:
  void Run(const std::stop_token& stop);

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> waiting_;
  size_t running_ = 0;

  std::vector<std::jthread> threads_;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_COPY_THREADS_H_
