// request_counts: how many requests of each kind the kernel has sent since the session began.
//
// Thread safety: all members.
#ifndef NFSWALK_NFSCLIENT_MOUNT_REQUEST_COUNTS_H_
#define NFSWALK_NFSCLIENT_MOUNT_REQUEST_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nfsclient/mount/mount_stats.h"

namespace nfswalk::mount {

class RequestCounts {
 public:
  // Counts a request as it is read from /dev/fuse. Preconditions: `request` begins with a
  // fuse_in_header.
  void Count(const void* request);

  // "fuse_requests_total" of each opcode of <linux/fuse.h> that means something here: "LOOKUP".
  std::vector<Sample> Samples() const;

 private:
  // One for each opcode; 0, which is none, for those beyond.
  std::array<std::atomic<uint64_t>, 64> counts_{};
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_REQUEST_COUNTS_H_
