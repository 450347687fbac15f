// callback_queue: asynchronous calls with a descriptor that is readable while results wait.
//
// Contract    Every call accepted by Submit() is delivered exactly once, in a thread inside
// Dispatch()
//             or the destructor. Submit() itself answers calls that need not wait.
// Data        pending_ (not answered yet), answered_ (not delivered yet): under mutex_.
// Invariants  The descriptor is readable exactly while answered_ holds something.
// Thread safety: Submit() and Dispatch() at once from any number of threads; the destructor when
// no other call is in progress.
#ifndef NFSWALK_NFSCLIENT_C_API_CALLBACK_QUEUE_H_
#define NFSWALK_NFSCLIENT_C_API_CALLBACK_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <expected>
#include <list>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace nfswalk {

// One call: submitted, answered and delivered by up to three threads, which the queue orders. No
// function throws.
class QueuedCall {
 public:
  virtual ~QueuedCall() = default;
  // Answers without blocking; false if that is impossible.
  virtual bool AnswerAtOnce() = 0;
  // Answers; may wait for the server.
  virtual void Answer() = 0;
  // Sets operation_canceled as the result.
  virtual void Cancel() = 0;
  // Runs the callback.
  virtual void Deliver() = 0;
};

class CallbackQueue {
 public:
  // Errors: those of eventfd(2) and pthread_create(3); not_enough_memory.
  static std::expected<std::unique_ptr<CallbackQueue>, std::errc> Create(unsigned threads);
  // Cancels what is pending, waits for what is being answered, delivers what is left.
  ~CallbackQueue();
  CallbackQueue(const CallbackQueue&) = delete;
  CallbackQueue& operator=(const CallbackQueue&) = delete;

  int fd() const { return answered_fd_; }

  // errc{}: taken. operation_canceled: the queue is being destroyed. not_enough_memory.
  [[nodiscard]] std::errc Submit(std::unique_ptr<QueuedCall> call);

  // Delivers at most `max` answers, 0: those that are there now; returns how many.
  size_t Dispatch(size_t max);

 private:
  // Spliced from list to list, so that no result is lost without memory.
  using Calls = std::list<std::unique_ptr<QueuedCall>>;

  explicit CallbackQueue(int answered_fd) : answered_fd_(answered_fd) {}
  void Work();
  void AddAnswered(Calls& calls);  // under mutex_

  const int answered_fd_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  Calls pending_;
  Calls answered_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_C_API_CALLBACK_QUEUE_H_
