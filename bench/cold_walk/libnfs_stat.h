// libnfs_stat: nfs_stat64 of every so manieth file by libnfs' synchronous calls, a context a
// thread. libnfs keeps neither names nor attributes for it, so that every call is cold.
#ifndef NFSWALK_BENCH_COLD_WALK_LIBNFS_STAT_H_
#define NFSWALK_BENCH_COLD_WALK_LIBNFS_STAT_H_

#include <cstdint>
#include <memory>

#include "bench/cold_walk/nfswalk_walk.h"

namespace nfswalk::bench {

// Looks at one in `one_in` files. Contexts of its own for every turn, which are not part of the
// time.
std::unique_ptr<ColdSubject> MakeLibnfsSubject(const ColdPlace& place, int version, size_t threads,
                                               uint64_t one_in);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_LIBNFS_STAT_H_
