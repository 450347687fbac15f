#include "bench/inode_scale/scale_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "bench/inode_scale/letter_tables.h"
#include "bench/inode_scale/scale_table.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kCurveWidth = 20;

size_t WidthOf(const SimulatedCurve& curve) { return std::max(kCurveWidth, curve.name.size()); }

// Null unless the curve has one there.
const CurvePoint* PointAt(const SimulatedCurve& curve, size_t processors) {
  const auto found = std::ranges::find(curve.points, processors, &CurvePoint::processors);
  return found == curve.points.end() ? nullptr : &*found;
}

std::string CurveCell(const SimulatedCurve& curve, size_t processors) {
  const CurvePoint* point = PointAt(curve, processors);
  if (point == nullptr) return "-";
  const CurvePoint* alone = PointAt(curve, 1);
  if (alone == nullptr || alone->seconds <= 0) return fmt::format("{:.4f}", point->seconds);
  return fmt::format("{:.4f} ({:.2f})", point->seconds, point->seconds / alone->seconds);
}

// The acquisitions of global locks that each bundle needs for an inode that streams through.
std::string CountsText(std::span<const ScaleRow> rows) {
  std::map<std::string, std::set<std::string>, std::greater<>> bundles_by_count;
  for (const ScaleRow& row : rows) {
    if (row.workload != "bulkstat") continue;
    bundles_by_count[fmt::format("{:6.3f}", row.global_acq_per_inode)].insert(BundleOf(row));
  }
  if (bundles_by_count.empty()) return "  bulkstat was not run, so nothing was counted\n";
  std::string text = "  acquisitions of global locks for each inode that bulkstat streams\n";
  for (const auto& [count, bundles] : bundles_by_count) {
    text += fmt::format("  {}  {}\n", count, fmt::join(bundles, ", "));
  }
  return text;
}

// What times can show on how many processors: docs/benchmarks.md.
std::string MeasurableText(size_t processors) {
  if (processors < 2) return "What times on one processor can show\n  what each policy costs\n";
  return fmt::format(
      "What times on {} processors can show, with up to {} threads\n"
      "  warm lookups: under RCU no hash lock, efficiency near 1 at two threads, less with H0\n"
      "  H0 to H1 where every lookup misses: at most 2x at two threads, with long chains and no "
      "fill time,\n"
      "  towards 1x as the fill time grows\n"
      "  H0 to H2 or H5, L0 to L1 or L3: between 1x and 2x without fill time, about 1x from 5 us "
      "on\n"
      "  no gain where the file system's own lock is the bottleneck\n"
      "  what each policy costs a single thread\n",
      processors, processors);
}

std::string StreamText(std::span<const ScaleRow> rows, size_t processors) {
  const ScaleRow* fastest = nullptr;
  for (const ScaleRow& row : rows) {
    if (row.workload != "bulkstat" || row.threads > processors) continue;
    if (fastest == nullptr || row.inodes_per_s > fastest->inodes_per_s) fastest = &row;
  }
  if (fastest == nullptr) return {};
  return fmt::format(
      "  bulkstat, {} threads, {}: {:.2f} million inodes/s\n"
      "  ({}: {:.2f} million with {} threads, in a longer run than that of its table)\n",
      fastest->threads, BundleOf(*fastest), fastest->inodes_per_s / 1e6,
      LetterSubject(Letter::kIteration), kLongBulkstat.PerSecond() / 1e6, kLongBulkstat.threads);
}

std::string OversubscribedText(std::span<const ScaleRow> rows, size_t processors) {
  std::set<size_t> threads;
  for (const ScaleRow& row : rows) {
    if (row.threads > processors) threads.insert(row.threads);
  }
  if (threads.empty()) return {};
  return fmt::format(
      "Rows with {} threads: oversubscription, not scalability. They show how preempted lock "
      "holders are borne.\n",
      fmt::join(threads, ", "));
}

}  // namespace

std::string ScaleJson(std::span<const ScaleRow> rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const ScaleRow& row : rows) {
    json.push_back({{"workload", row.workload},
                    {"hash", row.hash},
                    {"list", row.list},
                    {"lru", row.lru},
                    {"threads", row.threads},
                    {"fill_ns", row.fill_ns},
                    {"seconds", row.seconds},
                    {"seconds_min", row.seconds_min},
                    {"seconds_max", row.seconds_max},
                    {"inodes_per_s", row.inodes_per_s},
                    {"global_acq_per_inode", row.global_acq_per_inode},
                    {"efficiency", row.efficiency}});
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string LettersJson() {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const LetterTable& table : kLetterTables) {
    for (const LetterRow& row : table.rows) {
      for (size_t i = 0; i < kLetterWorkloads.size(); ++i) {
        if (!row.times[i].reported()) continue;
        json.push_back({{"letter", LetterSubject(table.letter)},
                        {"filesystem", table.filesystem},
                        {"workload", kLetterWorkloads[i]},
                        {"threads", row.threads},
                        {"files", row.threads * table.files_per_thread},
                        {"before_s", row.times[i].before_s},
                        {"after_s", row.times[i].after_s}});
      }
    }
  }
  return json.dump(2) + "\n";
}

std::string CurvesText(std::span<const SimulatedCurve> curves) {
  if (curves.empty()) return {};
  std::set<size_t> processors;
  std::string names = "processors";
  std::string onsets = "    onset ~";
  for (const SimulatedCurve& curve : curves) {
    for (const CurvePoint& point : curve.points) processors.insert(point.processors);
    names += fmt::format("  {:>{}}", curve.name, WidthOf(curve));
    onsets += fmt::format("  {:>{}}",
                          std::isinf(curve.onset) ? "never" : fmt::format("{:.1f}", curve.onset),
                          WidthOf(curve));
  }
  std::string text =
      "SIMULATED, not measured: seconds, and in brackets times that of one processor, with first "
      "come, first\nserved locks and the hold times of one thread. No preemption, no other shared "
      "lines.\n" +
      names + "\n";
  for (const size_t count : processors) {
    text += fmt::format("{:>10}", count);
    for (const SimulatedCurve& curve : curves) {
      text += fmt::format("  {:>{}}", CurveCell(curve, count), WidthOf(curve));
    }
    text += "\n";
  }
  return text + onsets +
         "\nonset: processors from which on one global lock sets the pace; a prediction.\n";
}

std::string ValidationText(std::span<const ScaleRow> rows, std::span<const SimulatedCurve> curves,
                           size_t processors) {
  std::string text;
  for (const SimulatedCurve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      const auto row = std::ranges::find_if(rows, [&](const ScaleRow& candidate) {
        return candidate.workload == "bulkstat" && candidate.threads == point.processors &&
               candidate.threads <= processors && BundleOf(candidate) == curve.name;
      });
      if (row == rows.end() || row->seconds <= 0) continue;
      const double part = point.seconds / row->seconds;
      text += fmt::format("  {:<{}}  {:>2}  {:.2f}{}\n", curve.name, kCurveWidth, point.processors,
                          part, std::abs(part - 1) > kTolerance ? "  OFF" : "");
    }
  }
  if (text.empty()) return {};
  return fmt::format(
             "Simulated over measured time, by processors (OFF: by more than {:.0f} %; the "
             "simulation "
             "of that\nbundle leaves out what decides here)\n",
             kTolerance * 100) +
         text;
}

std::string ClaimsText(std::span<const ScaleRow> rows, size_t processors) {
  std::string text = MeasurableText(processors);
  text += StreamText(rows, processors);
  text += "What counts show, the same on any machine\n";
  text += CountsText(rows);
  text += fmt::format(
      "What only counts and simulation show on fewer than 8 to 64 processors\n"
      "  the letters' {:.2f}x (fstree; {:.2f}x of its system time), {:.2f}x and {:.2f}x (walk), "
      "{:.1f}x (bulkstat)\n",
      FindLetterFigure(Letter::kRcuLookup, "ext4", "fstree", 20)->Ratio(),
      kFstreeTimes[0].system.Ratio(),
      FindLetterFigure(Letter::kVfsScale, "ext4", "walk", 16)->Ratio(),
      FindLetterFigure(Letter::kVfsScale, "btrfs-svol", "walk", 32)->Ratio(),
      FindLetterFigure(Letter::kIteration, "xfs", "bulkstat", 64)->Ratio());
  return text + OversubscribedText(rows, processors);
}

std::string ScaleReport(std::span<const ScaleRow> rows, std::span<const SimulatedCurve> curves,
                        size_t processors) {
  std::string text = ScaleTable(rows, processors) + "\n";
  if (!curves.empty()) {
    text += CurvesText(curves) + "\n" + ValidationText(rows, curves, processors) + "\n";
  }
  return text + ClaimsText(rows, processors);
}

}  // namespace nfswalk::bench
