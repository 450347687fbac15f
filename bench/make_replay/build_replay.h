// build_replay: makes the calls of a recorded build once, from several threads, and compares every
// answer.
//
// A thread takes a process that can go on, and makes its calls until one must wait for a call of
// another process; then it takes another one. There is always one that can go on: of the calls
// that are not yet made, the one that was recorded first waits for earlier ones only, and they are
// done, as are those before it in its own process.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_BUILD_REPLAY_H_
#define NFSWALK_BENCH_MAKE_REPLAY_BUILD_REPLAY_H_

#include <cstddef>
#include <expected>
#include <string>

#include "bench/make_replay/build_plan.h"
#include "bench/make_replay/replay.h"

namespace nfswalk::bench {

// Every change, and every `one_in`th of the other calls. `subject` answers for a tree as the plan
// has it, which is another one afterwards. An interrupt ends it early; a plan whose calls wait for
// one another is an error.
std::expected<PassResult, std::string> ReplayBuild(Subject& subject, const BuildPlan& plan,
                                                   size_t threads, size_t one_in);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_BUILD_REPLAY_H_
