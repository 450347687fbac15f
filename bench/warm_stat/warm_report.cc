#include "bench/warm_stat/warm_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kOurs = "nfswalk";
constexpr std::string_view kBest = "rcu-search";
constexpr std::string_view kKernel = "kernel, tmpfs";

// A row whose threads got less of the processors than this was disturbed by other work.
constexpr double kCpuShareMin = 0.9;

const WarmRow* Find(std::span<const WarmRow> rows, const WarmKey& key) {
  const auto found = std::ranges::find(rows, key, &WarmRow::key);
  return found == rows.end() ? nullptr : &*found;
}

struct Figure {
  std::string_view text;
  WarmKey ours;
  WarmKey other;
  bool by_total = false;  // compares calls a second, not the cost of one
  double at_least = 0;
};

WarmKey Ours(std::string_view mode, Course course, size_t threads, size_t identities = 1) {
  return {std::string(kOurs), std::string(mode), course, threads, identities};
}

WarmKey Kernel(Course course) { return {std::string(kKernel), "-", course, 1, 1}; }

std::vector<Figure> Figures() {
  constexpr Course kDeep{Pattern::kDistinct, 8}, kDeeper{Pattern::kDistinct, 16};
  constexpr Course kRandom{Pattern::kRandom, 4}, kSame{Pattern::kSameFile, 8};
  return {
      {"depth 8, distinct files, 1 thread, over the kernel", Ours(kBest, kDeep, 1), Kernel(kDeep),
       false, 5},
      {"depth 16, distinct files, 1 thread, over the kernel", Ours(kBest, kDeeper, 1),
       Kernel(kDeeper), false, 6},
      {"random order, 1 thread, over the kernel", Ours(kBest, kRandom, 1), Kernel(kRandom), false,
       2.5},
      {"same file, 2 threads over 1", Ours(kBest, kSame, 2), Ours(kBest, kSame, 1), true, 1.95},
      {"4 identities, 4 threads, rcu-search over rcu-locked", Ours(kBest, kDeep, 4, 4),
       Ours("rcu-locked", kDeep, 4, 4), false, 3},
      {"depth 8, 4 threads, rcu-search over ref", Ours(kBest, kDeep, 4), Ours("ref", kDeep, 4),
       false, 4},
      {"a negative name over a positive one", Ours(kBest, {Pattern::kNegative, 8}, 1),
       Ours(kBest, kDeep, 1), false, 1},
  };
}

std::string TableOf(std::span<const WarmRow> rows, size_t threads) {
  std::vector<std::pair<std::string, std::string>> columns;
  std::vector<std::pair<Course, size_t>> lines;
  for (const WarmRow& row : rows) {
    const std::pair column{row.key.subject, row.key.mode};
    const std::pair line{row.key.course, row.key.identities};
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  }
  std::string text = fmt::format("{} thread{}\n{:<15} {:>5} {:>10}", threads,
                                 threads == 1 ? "" : "s", "pattern", "depth", "identities");
  for (const auto& [subject, mode] : columns) {
    text += fmt::format(" {:>22}", mode == "-" ? subject : mode);
  }
  text += "\n";
  for (const auto& [course, identities] : lines) {
    text += fmt::format("{:<15} {:>5} {:>10}", NameOf(course.pattern), course.depth, identities);
    for (const auto& [subject, mode] : columns) {
      const WarmRow* row = Find(rows, {subject, mode, course, threads, identities});
      text += fmt::format(" {:>22}", row == nullptr
                                         ? "-"
                                         : fmt::format("{:.0f} ({:.0f}-{:.0f})", row->ns_per_op,
                                                       row->ns_min, row->ns_max));
    }
    text += "\n";
  }
  return text + "\n";
}

}  // namespace

WarmRow RowOf(const WarmKey& key, std::span<const WarmTurn> turns, size_t processors) {
  const auto used = static_cast<double>(std::min(key.threads, processors));
  std::vector<double> costs_ns;
  double least_share = 1;
  for (const WarmTurn& turn : turns) {
    costs_ns.push_back(turn.seconds * used * 1e9 / static_cast<double>(turn.ops));
    least_share = std::min(least_share, turn.cpu_share);
  }
  std::ranges::sort(costs_ns);
  const double median = costs_ns[(costs_ns.size() - 1) / 2];
  return {.key = key,
          .ns_per_op = median,
          .ns_min = costs_ns.front(),
          .ns_max = costs_ns.back(),
          .ops_per_s = used * 1e9 / median,
          .cpu_share = least_share};
}

void CompareWithOneThread(std::span<WarmRow> rows) {
  for (WarmRow& row : rows) {
    WarmKey key = row.key;
    key.threads = 1;
    const WarmRow* single = Find(rows, key);
    if (single != nullptr) row.scaling = row.ops_per_s / single->ops_per_s;
  }
}

std::string WarmJson(std::span<const WarmRow> rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const WarmRow& row : rows) {
    nlohmann::ordered_json object;
    object["subject"] = row.key.subject;
    object["mode"] = row.key.mode;
    object["pattern"] = NameOf(row.key.course.pattern);
    object["depth"] = row.key.course.depth;
    object["threads"] = row.key.threads;
    object["identities"] = row.key.identities;
    object["ns_per_op"] = row.ns_per_op;
    object["ops_per_s"] = row.ops_per_s;
    object["scaling"] = nullptr;
    if (row.scaling > 0) object["scaling"] = row.scaling;
    object["ns_min"] = row.ns_min;
    object["ns_max"] = row.ns_max;
    object["cpu_share"] = row.cpu_share;
    array.push_back(std::move(object));
  }
  return array.dump(2) + "\n";
}

std::string WarmTables(std::span<const WarmRow> rows) {
  std::set<size_t> threads;
  for (const WarmRow& row : rows) threads.insert(row.key.threads);
  std::string text;
  for (const size_t count : threads) text += TableOf(rows, count);
  return text;
}

std::string WarmFigures(std::span<const WarmRow> rows) {
  std::string text;
  for (const Figure& figure : Figures()) {
    const WarmRow* ours = Find(rows, figure.ours);
    const WarmRow* other = Find(rows, figure.other);
    if (ours == nullptr || other == nullptr) continue;
    const double ratio =
        figure.by_total ? ours->ops_per_s / other->ops_per_s : other->ns_per_op / ours->ns_per_op;
    const bool disturbed = std::min(ours->cpu_share, other->cpu_share) < kCpuShareMin;
    text +=
        fmt::format("  {:<52} at least {:>4.2f}x: {:>6.2f}x  {}{}\n", figure.text, figure.at_least,
                    ratio, ratio >= figure.at_least ? "reached" : "NOT REACHED",
                    disturbed ? " (disturbed by other work on the machine)" : "");
  }
  return text.empty() ? text : "Figures to reach\n" + text;
}

}  // namespace nfswalk::bench
