#include "bench/inode_scale/scale_table.h"

#include <algorithm>
#include <set>
#include <vector>

#include "bench/inode_scale/letter_tables.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kCellWidth = 23;
constexpr std::string_view kNotMeasured = "none";

// A letter's table that stands beside ours.
struct Source {
  std::string_view mark;
  Letter letter;
  std::string_view filesystem;
  std::string_view what;
};
constexpr Source kSources[] = {
    {"ext4 [1]", Letter::kVfsScale, "ext4",
     "400,000 files a thread, from one hash lock and one list to a lock for each chain and a "
     "sharded "
     "list"},
    {"xfs  [2]", Letter::kIteration, "xfs",
     "100,000 files a thread, 64 processors, from one list beside the file system's own index to "
     "no "
     "list"},
    {"ext4 [3]", Letter::kRcuLookup, "ext4",
     "1,000,000 files a thread, 32 processors, from a first lookup under the one hash lock to one "
     "under RCU"},
};

// Null unless it was measured.
const ScaleRow* FindRow(std::span<const ScaleRow> rows, std::string_view workload,
                        std::string_view bundle, size_t threads) {
  const auto found = std::ranges::find_if(rows, [&](const ScaleRow& row) {
    return row.seconds > 0 && row.threads == threads && row.workload == workload &&
           BundleOf(row) == bundle;
  });
  return found == rows.end() ? nullptr : &*found;
}

std::string SecondsText(double seconds) {
  if (seconds <= 0) return std::string(kNotMeasured);
  return fmt::format("{:.{}f}", seconds, seconds < 1 ? 4 : seconds < 100 ? 3 : 1);
}

// `doubt` is whether the difference may be noise.
std::string CellText(const BeforeAfter& times, bool doubt) {
  if (times.before_s <= 0 && times.after_s <= 0) return "-";
  std::string text =
      fmt::format("{:>6} -> {:>6}", SecondsText(times.before_s), SecondsText(times.after_s));
  if (times.before_s > 0 && times.after_s > 0) {
    text += fmt::format(" {:>4.{}f}x", times.Ratio(), times.Ratio() < 10 ? 2 : 1);
  }
  return text + (doubt ? "~" : " ");
}

// A line of cells; empty if there is none.
using Cells = std::vector<std::string>;
std::string LineText(std::string_view threads, std::string_view whose, const Cells& cells) {
  if (std::ranges::all_of(cells, [](const std::string& cell) { return cell == "-"; })) return {};
  std::string line = fmt::format("{:>7} {:<8}", threads, whose);
  for (const std::string& cell : cells) line += fmt::format(" {:>{}}", cell, kCellWidth);
  line.resize(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

class Table {
 public:
  Table(std::span<const ScaleRow> rows, size_t processors);
  std::string Text() const;

 private:
  std::string Heading() const;
  std::string OurLine(size_t threads) const;
  std::string Legend() const;

  const std::span<const ScaleRow> rows_;
  const size_t processors_;
  std::vector<std::string> workloads_;
  std::vector<std::string> best_;  // bundle, for each of workloads_
  std::set<size_t> threads_;
};

Table::Table(std::span<const ScaleRow> rows, size_t processors)
    : rows_(rows),
      processors_(processors),
      workloads_(kLetterWorkloads.begin(), kLetterWorkloads.end()) {
  for (const ScaleRow& row : rows) {
    threads_.insert(row.threads);
    if (std::ranges::find(workloads_, row.workload) == workloads_.end()) {
      workloads_.push_back(row.workload);
    }
  }
  for (const LetterTable& table : kLetterTables) {
    for (const LetterRow& row : table.rows) threads_.insert(row.threads);
  }
  for (const std::string& workload : workloads_) {
    best_.push_back(BestBundle(rows, workload, processors));
  }
}

std::string Table::Heading() const {
  std::string names = fmt::format("{:>7} {:<8}", "threads", "");
  std::string bundles = fmt::format("{:>7} {:<8}", "", "after:");
  for (size_t i = 0; i < workloads_.size(); ++i) {
    names += fmt::format(" {:>{}}", workloads_[i], kCellWidth);
    bundles += fmt::format(" {:>{}}", best_[i].empty() ? kNotMeasured : best_[i], kCellWidth);
  }
  return names + "\n" + bundles + "\n";
}

std::string Table::OurLine(size_t threads) const {
  Cells cells;
  for (size_t i = 0; i < workloads_.size(); ++i) {
    const ScaleRow* before = FindRow(rows_, workloads_[i], kBaselineBundle, threads);
    const ScaleRow* after = FindRow(rows_, workloads_[i], best_[i], threads);
    const bool overlap = before != nullptr && after != nullptr &&
                         before->seconds_min <= after->seconds_max &&
                         after->seconds_min <= before->seconds_max;
    cells.push_back(CellText({.before_s = before == nullptr ? 0 : before->seconds,
                              .after_s = after == nullptr ? 0 : after->seconds},
                             overlap));
  }
  return LineText(std::to_string(threads), threads > processors_ ? "ours *" : "ours", cells);
}

std::string Table::Legend() const {
  std::string text = fmt::format(
      "\nSeconds, from {} to the bundle under the workload's name; all threads do the same work, "
      "so "
      "a constant\ntime is ideal. That bundle is the fastest one measured, chosen afterwards, "
      "which "
      "flatters it a little.\n~  the ranges of the repetitions overlap: no difference is shown\n*  "
      "more threads than the {} processors here: oversubscription, not scalability\nThe letters' "
      "seconds are of other machines and whole file systems: compare ratios and shapes.\n",
      kBaselineBundle, processors_);
  for (const Source& source : kSources) {
    text += fmt::format("{} {}: {}\n", source.mark, LetterSubject(source.letter), source.what);
  }
  return text;
}

std::string Table::Text() const {
  std::string text;
  if (rows_.empty()) text += "Nothing was measured; these are the letters' figures alone.\n";
  text += Heading();
  for (const size_t threads : threads_) {
    const std::string ours = OurLine(threads);
    text += ours;
    std::string label = ours.empty() ? std::to_string(threads) : "";
    for (const Source& source : kSources) {
      Cells cells;
      for (const std::string& workload : workloads_) {
        const auto figure = FindLetterFigure(source.letter, source.filesystem, workload, threads);
        cells.push_back(CellText(figure ? figure->times : BeforeAfter{}, false));
      }
      const std::string line = LineText(label, source.mark, cells);
      text += line;
      if (!line.empty()) label.clear();
    }
  }
  return text + Legend();
}

}  // namespace

std::string BestBundle(std::span<const ScaleRow> rows, std::string_view workload,
                       size_t processors) {
  const ScaleRow* best = nullptr;
  // Counts that the processors can run come first, the greatest of them foremost; then the others.
  const auto better = [processors](const ScaleRow& a, const ScaleRow& b) {
    if (a.threads == b.threads) return a.seconds < b.seconds;
    if (a.threads > processors || b.threads > processors) return a.threads < b.threads;
    return a.threads > b.threads;
  };
  for (const ScaleRow& row : rows) {
    if (row.workload != workload || row.seconds <= 0 || BundleOf(row) == kBaselineBundle) continue;
    if (best == nullptr || better(row, *best)) best = &row;
  }
  return best == nullptr ? "" : BundleOf(*best);
}

std::string ScaleTable(std::span<const ScaleRow> rows, size_t processors) {
  return Table(rows, processors).Text();
}

}  // namespace nfswalk::bench
