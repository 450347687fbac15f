// odd_paths: generated paths for corner cases of path resolution, from a seed.
//
// Thread safety: a pure function.
#ifndef NFSWALK_TESTS_DIFFERENTIAL_ODD_PATHS_H_
#define NFSWALK_TESTS_DIFFERENTIAL_ODD_PATHS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/differential/backing_tree.h"
#include "tests/differential/comparison.h"

namespace nfswalk::differential {

// Returns at least `count` questions of different paths, with the credentials in turn (0 to
// `identities` - 1), every third with RESOLVE_* flags: slashes and dots in every place, names of
// 254 to 257 bytes and of every byte, paths of 4094 to 4097 bytes, links in chains, in loops and
// dangling, `..` above the root, through files, and through directories without search permission.
std::vector<Question> OddPaths(const Inventory& found, size_t count, size_t identities,
                               uint64_t seed);

}  // namespace nfswalk::differential

#endif  // NFSWALK_TESTS_DIFFERENTIAL_ODD_PATHS_H_
