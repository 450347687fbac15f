// memory_report: what memory found out: rows for programs, tables for people, and which of the
// figures to reach were reached.
#ifndef NFSWALK_BENCH_MEMORY_MEMORY_REPORT_H_
#define NFSWALK_BENCH_MEMORY_MEMORY_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nfswalk::bench {

// How many bytes the process grew by for each file, which names it had.
struct BytesRow {
  bool long_names = false;
  uint64_t files = 0;
  double bytes_per_file = 0;  // the median
  double bytes_min = 0;
  double bytes_max = 0;
};

// A warm stat of `hot` files in a cache of `entries` files.
struct CostRow {
  uint64_t entries = 0;
  uint64_t hot = 0;
  double ns_per_op = 0;  // the median
  double ns_min = 0;
  double ns_max = 0;
  double cpu_share = 0;                 // of the turn that got least
  std::optional<double> over_1e5 = {};  // ns_per_op over that in a cache of 100,000 files
};

// Preconditions: growths_bytes is not empty.
BytesRow BytesRowOf(bool long_names, uint64_t files, std::vector<uint64_t> growths_bytes);
// Fills in over_1e5.
void CompareWith1e5(std::span<CostRow> rows);

// What was found so far.
struct MemoryRows {
  std::vector<BytesRow> bytes;
  std::vector<CostRow> costs;
};

// An array of objects of two kinds: subject, names, files, bytes_per_file, bytes_min, bytes_max;
// and subject, mode, entries, hot, ns_per_op, ns_min, ns_max, cpu_share, over_1e5 (null where no
// cache had 100,000 files).
std::string MemoryJson(const MemoryRows& rows);
// For people: both tables, and the figures.
std::string MemoryTables(const MemoryRows& rows);
std::string MemoryFigures(const MemoryRows& rows);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_MEMORY_REPORT_H_
