// access_answer: the access rights that the server granted one credential, and their validity.
//
// The server's bits and the epoch that they belong to share a word: 56 bits of epoch do not wrap
// in practice. Epoch 0 is never current.
//
// Thread safety: pure functions.
#ifndef NFSWALK_ACCESS_CACHE_ACCESS_ANSWER_H_
#define NFSWALK_ACCESS_CACHE_ACCESS_ANSWER_H_

#include <cstdint>
#include <optional>

namespace nfswalk::access_cache {

// The time of a lookup, and the lifetime of granted rights. CLOCK_MONOTONIC.
struct AccessAge {
  uint64_t now_ns;
  uint64_t lifetime_ns;
};

inline constexpr unsigned kRightsBits = 8;

constexpr uint64_t PackAnswer(uint64_t epoch, uint32_t granted) {
  return epoch << kRightsBits | (granted & ((1u << kRightsBits) - 1));
}
constexpr uint64_t EpochOf(uint64_t answer) { return answer >> kRightsBits; }
constexpr uint32_t BitsOf(uint64_t answer) {
  return static_cast<uint32_t>(answer & ((1u << kRightsBits) - 1));
}

// The rights, if the answer is of `current_epoch` and now < granted_at + lifetime. An answer that
// was granted after the lookup took its time has age 0. Used by every lookup, so that they cannot
// disagree (ACCESS-6).
constexpr std::optional<uint32_t> RightsOf(uint64_t answer, uint64_t granted_at_ns,
                                           uint64_t current_epoch, AccessAge age) {
  const uint64_t age_ns = age.now_ns > granted_at_ns ? age.now_ns - granted_at_ns : 0;
  if (EpochOf(answer) != current_epoch || age_ns >= age.lifetime_ns) return std::nullopt;
  return BitsOf(answer);
}

}  // namespace nfswalk::access_cache

#endif  // NFSWALK_ACCESS_CACHE_ACCESS_ANSWER_H_
