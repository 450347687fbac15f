// cold_run: one run of cold_walk: the tree, everyone who takes turns, the turns.
#ifndef NFSWALK_BENCH_COLD_WALK_COLD_RUN_H_
#define NFSWALK_BENCH_COLD_WALK_COLD_RUN_H_

#include <atomic>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cold_walk/cold_report.h"
#include "bench/cold_walk/options.h"
#include "bench/make_replay/replay_server.h"

namespace nfswalk::bench {

// Works in a new directory of the export and removes it in the end, whatever happened. `progress`
// is told what comes next. Once `stop` is set the run ends early with the rows so far. The error is
// a sentence.
std::expected<std::vector<ColdRow>, std::string> RunColdWalks(
    const ColdOptions& options, ReplayServer& server,
    const std::function<void(std::string_view)>& progress, const std::atomic<bool>& stop);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_COLD_RUN_H_
