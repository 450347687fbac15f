// session: one mount from the kernel's side: receives its requests until it is unmounted.
#ifndef NFSWALK_NFSCLIENT_MOUNT_SESSION_H_
#define NFSWALK_NFSCLIENT_MOUNT_SESSION_H_

#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk::mount {

struct SessionOptions {
  std::string directory;             // absolute
  std::vector<std::string> options;  // libfuse's, of -o: each one, whatever bytes it has
  std::string shown = {};            // the directory in messages, escaped for a terminal
};

// Blocks the signals that end a session, SIGINT, SIGTERM and SIGHUP, in this thread and those that
// it begins: before any of these is begun.
void BlockEndingSignals();

// Mounts `client` and serves it until it is unmounted or one of those signals comes, after which it
// is unmounted, as soon as it is not in use. Calls `mounted` once programs can use it. The error
// says what failed; a mount that would allow more than the options is undone before it answers a
// request. Shuts the client down. Preconditions: BlockEndingSignals(); one session a process.
std::expected<void, std::string> Serve(Client& client, const MountOptions& mount,
                                       const SessionOptions& options,
                                       const std::function<void()>& mounted);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_SESSION_H_
