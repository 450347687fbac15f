// scale_table: our times in the shape of the letters' tables, theirs beside them.
#ifndef NFSWALK_BENCH_INODE_SCALE_SCALE_TABLE_H_
#define NFSWALK_BENCH_INODE_SCALE_SCALE_TABLE_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "bench/inode_scale/scale_row.h"

namespace nfswalk::bench {

// The bundle that took the least time for `workload` at the greatest number of threads that the
// processors can run at once (at the smallest number measured, if all are greater). kBaselineBundle
// does not compete. Empty if no other was measured.
std::string BestBundle(std::span<const ScaleRow> rows, std::string_view workload,
                       size_t processors);

// A line for each number of threads and a column for each workload, and the letters' lines under
// ours. A cell goes from kBaselineBundle to BestBundle(); "none" stands for what was not measured.
// `processors` are this machine's; lines with more threads are marked.
std::string ScaleTable(std::span<const ScaleRow> rows, size_t processors);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_SCALE_TABLE_H_
