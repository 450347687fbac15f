// report: the counts of shared_lines as tables and as JSON.
#ifndef NFSWALK_BENCH_SHARED_LINES_REPORT_H_
#define NFSWALK_BENCH_SHARED_LINES_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "bench/shared_lines/recorder.h"

namespace nfswalk::bench {

struct SharedLinesRow {
  std::string workload;
  std::string policy;  // "H3+L1+U1"
  size_t threads;
  uint64_t visits;
  SharedLines lines;
};

// A table for each workload in the order of the rows: writes / reads a visit, policies down,
// threads across.
std::string SharedLinesTables(std::span<const SharedLinesRow> rows);

// An array of {"workload", "policy", "threads", "visits", "shared_writes", "shared_reads",
// "writes_after_callbacks", "reads_after_callbacks", "callbacks"}, all numbers but the visits for
// one visit.
std::string SharedLinesJson(std::span<const SharedLinesRow> rows);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_SHARED_LINES_REPORT_H_
