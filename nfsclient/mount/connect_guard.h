// connect_guard: the signals that end a mount, while there is none yet that could be unmounted.
#ifndef NFSWALK_NFSCLIENT_MOUNT_CONNECT_GUARD_H_
#define NFSWALK_NFSCLIENT_MOUNT_CONNECT_GUARD_H_

#include <csignal>
#include <functional>
#include <thread>

namespace nfswalk::mount {

// SIGINT, SIGTERM and SIGHUP.
sigset_t EndingSignals();

// While it lives, an ending signal calls `say` with its number, on another thread, and ends the
// process as it does where nothing catches it. One that comes later stays pending, as does each
// where the system has no descriptors or no thread for it. The end of `parent`
// (Daemon::parent(); -1: none) is as SIGTERM: the user has ended the command, of which he sees
// the parent alone. Preconditions: all threads block the ending signals.
class ConnectGuard {
 public:
  ConnectGuard(int parent, std::function<void(int signal)> say);
  ~ConnectGuard();
  ConnectGuard(const ConnectGuard&) = delete;
  ConnectGuard& operator=(const ConnectGuard&) = delete;

 private:
  void Wait() const;

  const int parent_;
  const std::function<void(int signal)> say_;
  const int signals_;  // signalfd(2)
  const int ended_;    // eventfd(2)
  std::jthread thread_;
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_CONNECT_GUARD_H_
