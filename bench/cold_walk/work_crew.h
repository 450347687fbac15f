// work_crew: threads that do their shares at the same time, and how long that took.
#ifndef NFSWALK_BENCH_COLD_WALK_WORK_CREW_H_
#define NFSWALK_BENCH_COLD_WALK_WORK_CREW_H_

#include <cstddef>
#include <expected>
#include <functional>
#include <string>

namespace nfswalk::bench {

// Calls work(0) ... work(threads - 1), each on a thread of its own, which may run on any processor:
// the server needs them too. Seconds until the last one ended, or what one of them says went wrong
// (empty: nothing).
std::expected<double, std::string> RunCrew(size_t threads,
                                           const std::function<std::string(size_t)>& work);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_WORK_CREW_H_
