// seeds: each attack as the bytes of a connection, for a fuzzer of the whole stream.
#ifndef NFSWALK_TESTS_HOSTILE_SEEDS_H_
#define NFSWALK_TESTS_HOSTILE_SEEDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fixtures/fake_server.h"

namespace nfswalk::hostile {

// The xid of the call that each seed's first reply belongs to. What feeds a seed to a client of
// random xids replaces it.
inline constexpr uint32_t kSeedXid = 0x5eed0001;

struct Seed {
  std::string name;  // of the attack
  int version = 3;
  protocol::FakeCall call;  // that is replied to
  std::string stream;       // what never ends is repeated a few times; empty: silence
};

// Returns the good replies to the attacked calls, and then the seeds of AllAttacks() but for those
// on calls that change something.
std::vector<Seed> Seeds();

}  // namespace nfswalk::hostile

#endif  // NFSWALK_TESTS_HOSTILE_SEEDS_H_
