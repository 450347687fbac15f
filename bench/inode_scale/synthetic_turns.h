// synthetic_turns: the workloads on directories that are made up as they are read, so that nothing
// but the inode cache is measured.
#ifndef NFSWALK_BENCH_INODE_SCALE_SYNTHETIC_TURNS_H_
#define NFSWALK_BENCH_INODE_SCALE_SYNTHETIC_TURNS_H_

#include "bench/inode_scale/plan.h"

namespace nfswalk::bench {

// `plan` outlives the result, whose error names a policy that cannot be built. Ends early after an
// interrupt.
TakeTurns SyntheticTurns(const Plan& plan);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_SYNTHETIC_TURNS_H_
