#include "bench/memory/memory_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "bench/memory/synthetic_tree.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kSubject = "nfswalk";
constexpr std::string_view kMode = "rcu-search";  // the default, which is what is mounted
constexpr uint64_t kReference = 100'000;
// The figures to reach.
constexpr double kBytesPerFileMax = 500;
constexpr uint64_t kLargest = 10'000'000;
constexpr double kGrowthMax = 1.1;

// A row whose thread got less of its processor than this was disturbed by other work.
constexpr double kCpuShareMin = 0.9;

std::string NamesText(bool long_names) {
  if (!long_names) return "10 to 14 bytes";
  return fmt::format("10 to 14 bytes, 1 in {} of {}", SyntheticTree::kOneLongIn,
                     SyntheticTree::kLongNameBytes);
}

const CostRow* Find(std::span<const CostRow> rows, uint64_t entries, uint64_t hot) {
  const auto found = std::ranges::find_if(
      rows, [&](const CostRow& row) { return row.entries == entries && row.hot == hot; });
  return found == rows.end() ? nullptr : &*found;
}

std::string Verdict(std::string_view figure, std::string_view measured, bool reached,
                    bool disturbed) {
  return fmt::format("  {:<56} {:>10}  {}{}\n", figure, measured,
                     reached ? "reached" : "NOT REACHED",
                     disturbed ? " (disturbed by other work on the machine)" : "");
}

std::string BytesTable(std::span<const BytesRow> rows) {
  std::string text =
      fmt::format("{:<32} {:>10} {:>10} {:>21}\n", "names", "files", "bytes/file", "(min-max)");
  for (const BytesRow& row : rows) {
    text += fmt::format("{:<32} {:>10} {:>10.1f} {:>21}\n", NamesText(row.long_names), row.files,
                        row.bytes_per_file,
                        fmt::format("({:.1f}-{:.1f})", row.bytes_min, row.bytes_max));
  }
  return text + "\n";
}

std::string CostTable(std::span<const CostRow> rows) {
  std::set<uint64_t> hots, sizes;
  for (const CostRow& row : rows) {
    hots.insert(row.hot);
    sizes.insert(row.entries);
  }
  std::string text = fmt::format("{:<16}", "files cached");
  for (const uint64_t hot : hots) {
    text += fmt::format(" {:>26} {:>8}", fmt::format("ns, {} files (min-max)", hot), "over 1e5");
  }
  text += "\n";
  for (const uint64_t entries : sizes) {
    text += fmt::format("{:<16}", entries);
    for (const uint64_t hot : hots) {
      const CostRow* row = Find(rows, entries, hot);
      text += fmt::format(
          " {:>26} {:>8}",
          row == nullptr
              ? "-"
              : fmt::format("{:.1f} ({:.1f}-{:.1f})", row->ns_per_op, row->ns_min, row->ns_max),
          row != nullptr && row->over_1e5 ? fmt::format("{:.2f}x", *row->over_1e5) : "-");
    }
    text += "\n";
  }
  return text + "\n";
}

}  // namespace

BytesRow BytesRowOf(bool long_names, uint64_t files, std::vector<uint64_t> growths_bytes) {
  std::ranges::sort(growths_bytes);
  const auto each = [files](uint64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(files);
  };
  return {.long_names = long_names,
          .files = files,
          .bytes_per_file = each(growths_bytes[(growths_bytes.size() - 1) / 2]),
          .bytes_min = each(growths_bytes.front()),
          .bytes_max = each(growths_bytes.back())};
}

void CompareWith1e5(std::span<CostRow> rows) {
  for (CostRow& row : rows) {
    const CostRow* reference = Find(rows, kReference, row.hot);
    if (reference != nullptr) row.over_1e5 = row.ns_per_op / reference->ns_per_op;
  }
}

std::string MemoryJson(const MemoryRows& rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const BytesRow& row : rows.bytes) {
    array.push_back({{"subject", kSubject},
                     {"names", NamesText(row.long_names)},
                     {"files", row.files},
                     {"bytes_per_file", row.bytes_per_file},
                     {"bytes_min", row.bytes_min},
                     {"bytes_max", row.bytes_max}});
  }
  for (const CostRow& row : rows.costs) {
    nlohmann::ordered_json object = {{"subject", kSubject},        {"mode", kMode},
                                     {"entries", row.entries},     {"hot", row.hot},
                                     {"ns_per_op", row.ns_per_op}, {"ns_min", row.ns_min},
                                     {"ns_max", row.ns_max},       {"cpu_share", row.cpu_share},
                                     {"over_1e5", nullptr}};
    if (row.over_1e5) object["over_1e5"] = *row.over_1e5;
    array.push_back(std::move(object));
  }
  return array.dump(2) + "\n";
}

std::string MemoryTables(const MemoryRows& rows) {
  std::string text;
  if (!rows.bytes.empty()) {
    text +=
        "Resident growth of a process for each file that is cached: dentry, inode, name, hash\n"
        "tables and access rights, with what the directories above them take\n" +
        BytesTable(rows.bytes);
  }
  if (!rows.costs.empty()) {
    text += "A warm stat of the same few files, as the cache around them grows\n" +
            CostTable(rows.costs);
  }
  return text;
}

std::string MemoryFigures(const MemoryRows& rows) {
  std::string text;
  for (const BytesRow& row : rows.bytes) {
    text += Verdict(fmt::format("bytes a file, {} cached{}: {:.0f} at most", row.files,
                                row.long_names ? ", some names long" : "", kBytesPerFileMax),
                    fmt::format("{:.1f}", row.bytes_per_file),
                    row.bytes_per_file <= kBytesPerFileMax, false);
  }
  for (const CostRow& row : rows.costs) {
    if (row.entries != kLargest || !row.over_1e5) continue;
    const CostRow* reference = Find(rows.costs, kReference, row.hot);
    text += Verdict(
        fmt::format("warm stat at 1e7 over 1e5, {} files: {:.1f}x at most", row.hot, kGrowthMax),
        fmt::format("{:.2f}x", *row.over_1e5), *row.over_1e5 <= kGrowthMax,
        std::min(row.cpu_share, reference->cpu_share) < kCpuShareMin);
  }
  return text.empty() ? text : "Figures to reach\n" + text;
}

}  // namespace nfswalk::bench
