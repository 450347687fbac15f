// cold_report: what cold_walk found out: rows for programs, a table for people, and which of the
// figures to reach were reached.
#ifndef NFSWALK_BENCH_COLD_WALK_COLD_REPORT_H_
#define NFSWALK_BENCH_COLD_WALK_COLD_REPORT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/cold_walk/cold_subject.h"

namespace nfswalk::bench {

// All turns of one kind.
struct ColdRow {
  ColdKey key;
  uint64_t files = 0;  // of the turn whose time is the median
  uint64_t rpcs = 0;
  double seconds = 0;
  double seconds_min = 0;
  double seconds_max = 0;
  // Files a second, as a share of what the raw calls of the same walk reach.
  std::optional<double> of_ceiling = {};

  double rpcs_per_file() const;
  double files_per_s() const;
};

// Preconditions: turns is not empty.
ColdRow RowOf(const ColdKey& key, std::vector<ColdTurn> turns);

// Fills in of_ceiling: libnfs is held against the raw calls of our walk by whole paths. A row
// without a ceiling keeps none.
void CompareWithCeilings(std::span<ColdRow> rows);

// An array of objects: subject, protocol ("v3"), mode, threads, files, rpcs, rpcs_per_file,
// seconds, seconds_min, seconds_max, files_per_s, of_ceiling (null where there is no ceiling).
std::string ColdJson(std::span<const ColdRow> rows);

// For people: the rows, and the figures.
std::string ColdTable(std::span<const ColdRow> rows);
std::string FiguresText(std::span<const ColdRow> rows);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_COLD_REPORT_H_
