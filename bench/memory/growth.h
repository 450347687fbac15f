// growth: by how much a process grows when it caches a tree.
#ifndef NFSWALK_BENCH_MEMORY_GROWTH_H_
#define NFSWALK_BENCH_MEMORY_GROWTH_H_

#include <cstdint>
#include <expected>
#include <string>

#include "bench/memory/synthetic_tree.h"

namespace nfswalk::bench {

// Resident bytes that filling the caches adds to a process that does nothing else, from an empty
// mount on. The process is a child of its own, so that nothing that was freed before is reused and
// all is given back. Preconditions: the calling process has one thread and has mounted nothing yet.
std::expected<uint64_t, std::string> ResidentGrowth(const SyntheticTree& tree);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_GROWTH_H_
