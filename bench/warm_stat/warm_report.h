// warm_report: what warm_stat found out: rows for programs, tables for people, and which of the
// figures to reach were reached.
#ifndef NFSWALK_BENCH_WARM_STAT_WARM_REPORT_H_
#define NFSWALK_BENCH_WARM_STAT_WARM_REPORT_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/warm_stat/pattern.h"

namespace nfswalk::bench {

// Of which kind a turn is. Rows with the same key are repetitions of each other.
struct WarmKey {
  std::string subject;
  std::string mode;  // "-" if the subject has none
  Course course;
  size_t threads = 1;
  size_t identities = 1;

  friend auto operator<=>(const WarmKey&, const WarmKey&) = default;
};

struct WarmTurn {
  uint64_t ops = 0;
  double seconds = 0;
  double cpu_share = 0;  // see TeamTime
};

// All turns of one kind: the median, and between what they lay.
struct WarmRow {
  WarmKey key;
  double ns_per_op = 0;  // of one processor: seconds x processors in use / calls
  double ns_min = 0;
  double ns_max = 0;
  double ops_per_s = 0;
  double scaling = 0;    // ops_per_s over that of one thread; 0: no such row
  double cpu_share = 0;  // of the turn that got least
};

// Preconditions: turns is not empty. `processors` of this machine.
WarmRow RowOf(const WarmKey& key, std::span<const WarmTurn> turns, size_t processors);
// Fills in scaling.
void CompareWithOneThread(std::span<WarmRow> rows);

// An array of objects: subject, mode, pattern, depth, threads, identities, ns_per_op, ops_per_s,
// scaling (null where one thread was not measured), ns_min, ns_max, cpu_share.
std::string WarmJson(std::span<const WarmRow> rows);

// For people: a table for each number of threads, and the figures.
std::string WarmTables(std::span<const WarmRow> rows);
std::string WarmFigures(std::span<const WarmRow> rows);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_WARM_REPORT_H_
