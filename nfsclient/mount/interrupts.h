// interrupts: ends the requests of processes that are being killed, as TASK_KILLABLE sleeps of the
// kernel do: FUSE tells of any signal (FUSE_INTERRUPT), and a caught one must not end a system call
// that waits for a server.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_INTERRUPTS_H_
#define NFSWALK_NFSCLIENT_MOUNT_INTERRUPTS_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include "nfsclient/client.h"

namespace nfswalk::mount {

class Interrupts {
 public:
  Interrupts() = default;
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // The end of a request that was interrupted.
  enum class Ends : uint8_t {
    kWithCaller,  // a signal that its caller dies of, or where that cannot be found out
    kAtOnce,      // any signal: as of F_SETLKW
  };

  // A request of the thread `caller`, while it may be interrupted: then `cancellation` is canceled.
  class [[nodiscard]] Entry {
   public:
    Entry(Interrupts& interrupts, pid_t caller, Cancellation& cancellation,
          Ends ends = Ends::kWithCaller);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    uint64_t id() const { return id_; }

   private:
    Interrupts& interrupts_;
    const uint64_t id_;
  };

  // Ends all requests of kAtOnce, and those that come.
  void EndThoseAtOnce();

  // The request with this Entry::id() was interrupted. Does nothing if it has ended.
  void Interrupt(uint64_t id);

 private:
  struct Waiting {
    pid_t caller;
    Cancellation* cancellation;
    Ends ends;
    bool interrupted = false;
  };

  uint64_t Add(const Waiting& waiting);
  void Watch(const std::stop_token& stop);

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any interrupted_some_;
  std::map<uint64_t, Waiting> waiting_;
  uint64_t last_id_ = 0;
  size_t interrupted_ = 0;  // of waiting_
  bool ending_ = false;     // EndThoseAtOnce()

  std::jthread watcher_{[this](const std::stop_token& stop) { Watch(stop); }};
};

// Whether /proc is of this process's pid namespace, whose ids requests have; one of another
// namespace shows other threads under them.
bool ProcShowsCallers();

// True of a thread whose pending signals include one that ends its process, and of one that /proc
// does not show.
bool IsBeingKilled(pid_t thread);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_INTERRUPTS_H_
