// background: asynchronous calls to the server, made by threads of the mount.
//
// A thread for each call that runs, kThreadsMax at most, which bounds the references that they hold
// beyond the limits of the caches. No call waits behind another one.
//
// Thread safety: any. Lifetime: the superblock's.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_BACKGROUND_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_BACKGROUND_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace nfswalk::nfs {

class Background {
 public:
  // `in_background`: false where the caller of TryStart() had to make it.
  using Call = std::move_only_function<void(bool in_background)>;
  static constexpr size_t kThreadsMax = 4;

  Background() = default;
  ~Background() { Stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // A call that throws std::bad_alloc is dropped. False if it was not queued, and is untouched: the
  // caller makes it inline. kThreadsMax of them run, no thread can be started, there is no memory,
  // or Stop() was called.
  [[nodiscard]] bool TryStart(Call& call);
  // Waits for the calls that run, and lets no others run. Preconditions: the protocol is shut down,
  // so that they end.
  void Stop();
  // Returns when no call is queued or runs: for tests, which count RPCs and references.
  void WaitUntilIdle();

 private:
  void StartThread();
  void Run(const std::stop_token& stop);

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any queued_some_;
  std::condition_variable_any idle_;
  std::list<Call> queued_;
  size_t running_ = 0;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_BACKGROUND_H_
