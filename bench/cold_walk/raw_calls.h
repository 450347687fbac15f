// raw_calls: the ceiling of a walk: the calls that it made, made again with many of them in flight
// at once, by one thread that does nothing else and believes every answer.
#ifndef NFSWALK_BENCH_COLD_WALK_RAW_CALLS_H_
#define NFSWALK_BENCH_COLD_WALK_RAW_CALLS_H_

#include <cstddef>
#include <memory>

#include "bench/cold_walk/nfswalk_walk.h"

namespace nfswalk::bench {

inline constexpr size_t kRawWindow = 256;

// `record`: of a walk with this setting that found `files`. A connection of its own for every turn,
// which is not part of the time.
std::unique_ptr<ColdSubject> MakeRawSubject(const ColdPlace& place, const NfswalkSetting& setting,
                                            Record record, uint64_t files);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_RAW_CALLS_H_
