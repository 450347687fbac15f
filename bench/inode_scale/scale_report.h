// scale_report: what inode_scale found out beside its table: rows for programs, simulated curves,
// and what may be concluded from which of them (docs/benchmarks.md).
#ifndef NFSWALK_BENCH_INODE_SCALE_SCALE_REPORT_H_
#define NFSWALK_BENCH_INODE_SCALE_SCALE_REPORT_H_

#include <cstddef>
#include <span>
#include <string>

#include "bench/inode_scale/queueing_model.h"
#include "bench/inode_scale/scale_row.h"

namespace nfswalk::bench {

// An array of objects whose keys are the members of ScaleRow. A figure that is no number is null.
std::string ScaleJson(std::span<const ScaleRow> rows);

// An array of objects: letter, filesystem, workload, threads, files, before_s, after_s: every cell
// of the letters' tables.
std::string LettersJson();

// T(n) of each curve, marked as simulated. Empty without curves.
std::string CurvesText(std::span<const SimulatedCurve> curves);

// How the curves agree with the bulkstat rows of as many threads, up to `processors`: the part of
// the measured time that the simulated one is. Beyond kTolerance a curve is said to be off. Empty
// where nothing can be compared.
inline constexpr double kTolerance = 0.25;
std::string ValidationText(std::span<const ScaleRow> rows, std::span<const SimulatedCurve> curves,
                           size_t processors);

// Which ratios this machine can show, which follow from counts and simulation alone, and which rows
// show only how more threads than processors are borne.
std::string ClaimsText(std::span<const ScaleRow> rows, size_t processors);

// For people: the table beside the letters', the curves and how far to trust them, the claims.
std::string ScaleReport(std::span<const ScaleRow> rows, std::span<const SimulatedCurve> curves,
                        size_t processors);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_SCALE_REPORT_H_
