// churn_rows: a warm stat beside changes elsewhere in the mount.
#ifndef NFSWALK_BENCH_WARM_STAT_CHURN_ROWS_H_
#define NFSWALK_BENCH_WARM_STAT_CHURN_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "bench/measure/outcome.h"
#include "bench/measure/row.h"
#include "bench/measure/server_export.h"

namespace nfswalk::bench {

struct ChurnOptions {
  uint64_t changes_per_s;
  size_t repetitions;
  uint64_t turn_ms;
};

// Works in a new directory of the export and removes it again. A row for each kind of change and
// size of the hot set has: churn, directories, changes_per_s (as many as were made), prefix_hits
// (of all walks, the share that began at a prefix from the path cache), and what AddTiming() says:
// processor time of the thread that asks. After an interrupt it ends early without rows.
Outcome MeasureChurn(const ChurnOptions& options, ServerExport& server, RowWriter& rows);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_CHURN_ROWS_H_
