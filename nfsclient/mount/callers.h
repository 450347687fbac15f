// callers: whose credential a request has.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_CALLERS_H_
#define NFSWALK_NFSCLIENT_MOUNT_CALLERS_H_

#include <array>
#include <chrono>
#include <memory>
#include <mutex>

#include "nfsclient/client.h"
#include "nfsclient/mount/fuse.h"
#include "nfsclient/mount/interrupts.h"

namespace nfswalk::mount {

class Callers {
 public:
  // All requests are this process's, or with `others` (allow_other) the calling process's, without
  // supplementary groups where /proc does not show it.
  explicit Callers(bool others) : others_(others) {}

  std::shared_ptr<const Credential> Of(fuse_req_t request);

  // How long the groups of a thread are remembered: setgroups(2) alone takes as long to be noticed.
  static constexpr std::chrono::seconds kGroupsLifetime{1};

 private:
  struct Known {
    fuse_ctx caller{};
    std::chrono::steady_clock::time_point until{};
    std::shared_ptr<const Credential> credential;
  };

  const bool others_;
  const bool groups_shown_ = ProcShowsCallers();
  const std::shared_ptr<const Credential> own_ =
      std::make_shared<const Credential>(Credential::OfProcess());
  std::mutex mutex_;
  std::array<Known, 64> known_;  // by the thread's id; guarded by mutex_
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_CALLERS_H_
