// memory_run: one run of memory: the processes that grow, then the caches that take turns.
#ifndef NFSWALK_BENCH_MEMORY_MEMORY_RUN_H_
#define NFSWALK_BENCH_MEMORY_MEMORY_RUN_H_

#include <atomic>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

#include "bench/memory/memory_report.h"
#include "bench/memory/options.h"

namespace nfswalk::bench {

// `progress` is told what comes next. Once `stop` is set the run ends early with the rows so far.
// The error is a sentence; an answer that is not the tree's is one, too, and a warm stat that was
// not answered from the cache. Preconditions: the calling process has one thread.
std::expected<MemoryRows, std::string> RunMemory(
    const MemoryOptions& options, const std::function<void(std::string_view)>& progress,
    const std::atomic<bool>& stop);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_MEMORY_RUN_H_
