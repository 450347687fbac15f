// progress_thread: keeps the console's progress line alive while the main thread waits for a
// server, without a limit on hard mounts.
//
// Thread safety: construct and destroy on one thread. The destructor ends the thread.
#ifndef NFSWALK_NFSCLIENT_CLI_PROGRESS_THREAD_H_
#define NFSWALK_NFSCLIENT_CLI_PROGRESS_THREAD_H_

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "nfsclient/cli/console.h"

namespace nfswalk::cli {

class ProgressThread {
 public:
  // Starts no thread where no progress would be shown, or where none can be started. `console`
  // outlives this.
  explicit ProgressThread(Console& console);

 private:
  void Run(const std::stop_token& stop);

  Console& console_;
  std::mutex mutex_;  // for the condition variable; guards nothing
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_PROGRESS_THREAD_H_
