#include "bench/inode_scale/letter_tables.h"

#include <algorithm>
#include <iterator>

namespace nfswalk::bench {

std::string_view LetterSubject(Letter letter) {
  switch (letter) {
    case Letter::kVfsScale:
      return "the VFS scalability letter";
    case Letter::kIteration:
      return "the superblock iteration letter";
    case Letter::kRcuLookup:
      return "the RCU inode lookup letter";
  }
  return "?";
}

std::vector<LetterFigure> LetterFigures(std::string_view workload, size_t threads) {
  std::vector<LetterFigure> figures;
  const auto column = std::ranges::find(kLetterWorkloads, workload) - kLetterWorkloads.begin();
  if (column == std::ssize(kLetterWorkloads)) return figures;
  for (const LetterTable& table : kLetterTables) {
    for (const LetterRow& row : table.rows) {
      if (row.threads != threads || !row.times[column].reported()) continue;
      figures.push_back({table.letter, table.filesystem, threads, threads * table.files_per_thread,
                         row.times[column]});
    }
  }
  return figures;
}

std::optional<LetterFigure> FindLetterFigure(Letter letter, std::string_view filesystem,
                                             std::string_view workload, size_t threads) {
  for (const LetterFigure& figure : LetterFigures(workload, threads)) {
    if (figure.letter == letter && figure.filesystem == filesystem) return figure;
  }
  return std::nullopt;
}

}  // namespace nfswalk::bench
