// team: threads that do the same work at the same time, and how long the last of them took.
#ifndef NFSWALK_BENCH_TEAM_H_
#define NFSWALK_BENCH_TEAM_H_

#include <cstddef>
#include <functional>

namespace nfswalk::bench {

struct TeamTime {
  double seconds = 0;    // from the first one's start until the last one's end
  double cpu_share = 0;  // processor time they got, of what as many could get at most
};

// Calls work(0) ... work(threads - 1), each on a thread of its own, pinned round robin, which all
// start together once each has done its prepare(), which is not part of the time.
TeamTime RunTeam(
    size_t threads, const std::function<void(size_t)>& work,
    const std::function<void(size_t)>& prepare = [](size_t) {});

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TEAM_H_
