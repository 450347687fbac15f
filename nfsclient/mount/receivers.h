// receivers: the threads that receive the requests of a session, and what has been received.
//
// Invariant   A thread's turn begins where it asks the kernel for a request, and ends where it has
//             begun what it got: answered it, or handed it to a worker. turns counts the ends. A
//             thread that is asking may have got a request that it has not looked at yet: a signal
//             ends a turn that gets none.
// Ordering    R1 turns release -> AwaitReceived() acquire: who has seen the end of a turn sees what
//                its request has begun (a file that counts as closed).
// Thread safety: AwaitReceived() from any thread; the others from the one that constructed it.
#ifndef NFSWALK_NFSCLIENT_MOUNT_RECEIVERS_H_
#define NFSWALK_NFSCLIENT_MOUNT_RECEIVERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <thread>

#include "nfsclient/mount/fuse.h"
#include "nfsclient/mount/request_counts.h"

namespace nfswalk::mount {

// When the last thread has ended, SIGTERM is sent to this process, unless they were ended by End().
// SIGUSR1 wakes them: its handler is the caller's, without SA_RESTART.
class Receivers {
 public:
  Receivers(fuse_session* session, RequestCounts& requests)
      : session_(session), requests_(requests) {}
  ~Receivers() { End(); }
  Receivers(const Receivers&) = delete;
  Receivers& operator=(const Receivers&) = delete;

  // Begins to receive, with fewer threads where no more can be had. False without one. Once.
  [[nodiscard]] bool Start(size_t count);
  // Idempotent.
  void End();

  // Returns when all that the kernel handed out before this call has begun; a tenth of a second
  // later where it has not, or once the thread is cancelled. On a receiving thread, which must not
  // wait for another, at once.
  void AwaitReceived();

 private:
  struct Receiver {
    std::atomic<uint64_t> turns{0};
    std::atomic<bool> ended{false};
    std::jthread thread;
  };

  void Receive(Receiver& receiver);
  void Wake(Receiver& receiver);

  fuse_session* const session_;
  RequestCounts& requests_;
  std::atomic<size_t> running_{0};
  std::atomic<bool> started_{false};
  std::atomic<bool> ending_{false};
  std::deque<Receiver> receivers_;  // constant once it has started
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_RECEIVERS_H_
