// warm_run: one run of warm_stat: the tree, everyone who takes turns, the turns.
#ifndef NFSWALK_BENCH_WARM_STAT_WARM_RUN_H_
#define NFSWALK_BENCH_WARM_STAT_WARM_RUN_H_

#include <atomic>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/make_replay/replay_server.h"
#include "bench/warm_stat/options.h"
#include "bench/warm_stat/warm_report.h"

namespace nfswalk::bench {

// Works in a new directory of the export and removes it in the end, whatever happened. `progress`
// is told what comes next. Once `stop` is set the run ends early with the rows so far. The error is
// a sentence; an answer that is not the tree's is one, too.
std::expected<std::vector<WarmRow>, std::string> RunWarmStats(
    const WarmOptions& options, ReplayServer& server,
    const std::function<void(std::string_view)>& progress, const std::atomic<bool>& stop);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_WARM_RUN_H_
