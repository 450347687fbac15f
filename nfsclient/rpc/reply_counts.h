// reply_counts: how many replies came to each procedure, and how long they took.
//
// Thread safety: none.
#ifndef NFSWALK_NFSCLIENT_RPC_REPLY_COUNTS_H_
#define NFSWALK_NFSCLIENT_RPC_REPLY_COUNTS_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace nfswalk::rpc {

class ReplyCounts {
 public:
  // Numbers of procedures and of version 4's operations are less (RFC 1813 3, RFC 8276 8.4).
  static constexpr size_t kKindsMax = 76;

  struct Count {
    uint64_t replies = 0;
    uint64_t total_ns = 0;
    uint64_t max_ns = 0;
  };

  void Add(size_t kind, std::chrono::nanoseconds took) {
    if (kind >= kKindsMax) return;
    const auto ns = static_cast<uint64_t>(std::max<int64_t>(took.count(), 0));
    Count& count = counts_[kind];
    ++count.replies;
    count.total_ns += ns;
    count.max_ns = std::max(count.max_ns, ns);
  }
  void Add(const ReplyCounts& others) {
    for (size_t kind = 0; kind < kKindsMax; ++kind) {
      counts_[kind].replies += others.counts_[kind].replies;
      counts_[kind].total_ns += others.counts_[kind].total_ns;
      counts_[kind].max_ns = std::max(counts_[kind].max_ns, others.counts_[kind].max_ns);
    }
  }
  const Count& operator[](size_t kind) const { return counts_[kind]; }

 private:
  std::array<Count, kKindsMax> counts_{};
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_REPLY_COUNTS_H_
