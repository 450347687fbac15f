// mix64: the one hash finalizer of the project.
//
// Thread safety: pure functions.
#ifndef NFSWALK_RCU_MIX64_H_
#define NFSWALK_RCU_MIX64_H_

#include <cstdint>

namespace nfswalk::rcu {

// Spreads every bit of `x` over all 64 bits, so that small and dense keys can index a table by any
// of them. A bijection that maps 0 to 0 (the finalizer of MurmurHash3). Not keyed: where a peer
// chooses keys, the caller adds a seed.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

// Adds a word to a hash; the order of words matters.
constexpr uint64_t Mix64(uint64_t hash, uint64_t word) {
  return Mix64(hash + word + 0x9e3779b97f4a7c15);
}

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_MIX64_H_
