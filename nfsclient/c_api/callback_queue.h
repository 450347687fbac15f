// callback_queue: calls that a caller does not wait for, and a descriptor that says when to come
// for the answers.
//
// Contract    Every call that Submit() took is delivered exactly once, in a thread that is inside
//             Dispatch() or the destructor. What can be answered without waiting is answered by the
//             submitter, before it waits for a thread.
// Data        pending_ (to be answered), answered_ (to be delivered): under mutex_.
// Invariants  The descriptor is readable exactly while answered_ holds something.
// Thread safety: Submit() and Dispatch() at once from any number of threads; the destructor when
// nobody is inside them.
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

// One call on its way: asked for by one thread, answered by the same or another, delivered by a
// third. The queue orders these; no two overlap. None throws.
class QueuedCall {
 public:
  virtual ~QueuedCall() = default;
  // Answers without waiting for anybody; false if that is not possible.
  virtual bool AnswerAtOnce() = 0;
  // Answers; may wait for the server.
  virtual void Answer() = 0;
  // Takes operation_canceled for the answer.
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
  // Nodes move from list to list, so that no answer is lost for want of memory.
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
