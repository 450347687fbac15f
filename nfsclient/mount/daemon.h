// daemon: goes to the background once the file system is mounted, and not before.
//
// Thread safety: one thread, which begins no other before the call.
#ifndef NFSWALK_NFSCLIENT_MOUNT_DAEMON_H_
#define NFSWALK_NFSCLIENT_MOUNT_DAEMON_H_

#include <expected>
#include <system_error>

namespace nfswalk::mount {

// The child of the process that the shell waits for.
class Daemon {
 public:
  // Closes all descriptors but the standard ones, and fork(2)s. Returns in the child only: the
  // parent stays until Detach(), and exits with 0 then, or with what the child exits with before.
  // Errors: those of pipe(2) and fork(2), in the parent.
  static std::expected<Daemon, std::errc> Start();

  // Lets the parent go; a session of its own, without the directory and the terminal of the shell
  // (daemon(3)). Returns false where the parent was gone before: whoever began it knows nothing of
  // this process. Preconditions: SIGPIPE is ignored.
  [[nodiscard]] bool Detach();

  // A descriptor that poll(2) shows POLLERR of once the parent is gone. Until Detach().
  int parent() const { return parent_; }

 private:
  explicit Daemon(int parent) : parent_(parent) {}

  int parent_;  // the write end of a pipe
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_DAEMON_H_
