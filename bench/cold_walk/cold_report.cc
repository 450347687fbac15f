#include "bench/cold_walk/cold_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kOurs = "nfswalk";
constexpr std::string_view kNotAhead = "nfswalk nordirplus";
constexpr std::string_view kLibnfs = "libnfs sync";
constexpr std::string_view kCeiling = "raw calls";

// The figures to reach.
constexpr double kDeepRoundTrips = 1;
constexpr double kFindRpcsPerFileMax = 0.05;
constexpr double kOverLibnfsMin = 4;
constexpr double kOfCeilingMin = 0.7;
constexpr size_t kThreadsOfFigures = 4;

const ColdRow* Find(std::span<const ColdRow> rows, const ColdKey& key) {
  const auto found = std::ranges::find(rows, key, &ColdRow::key);
  return found == rows.end() ? nullptr : &*found;
}

// The key of the raw calls that a row is held against.
ColdKey CeilingOf(const ColdKey& key) {
  std::string subject(kCeiling);
  for (const std::string_view who : {kOurs, kCeiling}) {
    if (key.subject.starts_with(who)) subject += key.subject.substr(who.size());
  }
  return {std::move(subject), key.version, key.mode, 1};
}

std::string Verdict(std::string_view figure, std::string_view measured, bool reached) {
  return fmt::format("  {:<58} {:>12}   {}\n", figure, measured,
                     reached ? "reached" : "NOT REACHED");
}

std::string DeepFigure(std::span<const ColdRow> rows) {
  const ColdRow* deep = Find(rows, {std::string(kOurs), 4, ColdMode::kDeep, 1});
  if (deep == nullptr) return {};
  return Verdict("v4, cold stat of a depth-8 path: 1 round trip", fmt::format("{}", deep->rpcs),
                 static_cast<double>(deep->rpcs) <= kDeepRoundTrips);
}

std::string FiguresOf(std::span<const ColdRow> rows, int version) {
  std::string text;
  const auto ours = [&](ColdMode mode) {
    return Find(rows, {std::string(kOurs), version, mode, kThreadsOfFigures});
  };
  const ColdRow* find = ours(ColdMode::kFind);
  const ColdRow* path = ours(ColdMode::kPath);
  const ColdRow* libnfs =
      Find(rows, {std::string(kLibnfs), version, ColdMode::kPath, kThreadsOfFigures});
  if (find != nullptr) {
    text += Verdict(fmt::format("v{}, cold find: at most 0.05 RPCs a file", version),
                    fmt::format("{:.4f}", find->rpcs_per_file()),
                    find->rpcs_per_file() <= kFindRpcsPerFileMax);
  }
  if (path != nullptr && libnfs != nullptr) {
    const double ratio = path->files_per_s() / libnfs->files_per_s();
    text += Verdict(fmt::format("v{}, cold stat over libnfs' synchronous calls: 4x", version),
                    fmt::format("{:.2f}x", ratio), ratio >= kOverLibnfsMin);
    const ColdRow* one_by_one =
        Find(rows, {std::string(kNotAhead), version, ColdMode::kPath, kThreadsOfFigures});
    if (one_by_one != nullptr) {
      text += fmt::format("    without listing directories ahead {:>36.2f}x\n",
                          one_by_one->files_per_s() / libnfs->files_per_s());
    }
  }
  for (const ColdRow* row : {path, find}) {
    if (row == nullptr || !row->of_ceiling) continue;
    text += Verdict(fmt::format("v{}, cold {}, share of the raw-call ceiling: 0.7", version,
                                NameOf(row->key.mode)),
                    fmt::format("{:.2f}", *row->of_ceiling), *row->of_ceiling >= kOfCeilingMin);
  }
  return text;
}

}  // namespace

double ColdRow::rpcs_per_file() const {
  return files == 0 ? 0 : static_cast<double>(rpcs) / static_cast<double>(files);
}

double ColdRow::files_per_s() const {
  return seconds > 0 ? static_cast<double>(files) / seconds : 0;
}

ColdRow RowOf(const ColdKey& key, std::vector<ColdTurn> turns) {
  std::ranges::sort(turns, {}, &ColdTurn::seconds);
  const ColdTurn& median = turns[(turns.size() - 1) / 2];
  return {.key = key,
          .files = median.files,
          .rpcs = median.rpcs,
          .seconds = median.seconds,
          .seconds_min = turns.front().seconds,
          .seconds_max = turns.back().seconds};
}

void CompareWithCeilings(std::span<ColdRow> rows) {
  for (ColdRow& row : rows) {
    const ColdRow* ceiling = Find(rows, CeilingOf(row.key));
    if (ceiling == nullptr || ceiling->files_per_s() <= 0) continue;
    row.of_ceiling = row.files_per_s() / ceiling->files_per_s();
  }
}

std::string ColdJson(std::span<const ColdRow> rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const ColdRow& row : rows) {
    nlohmann::ordered_json object;
    object["subject"] = row.key.subject;
    object["protocol"] = fmt::format("v{}", row.key.version);
    object["mode"] = NameOf(row.key.mode);
    object["threads"] = row.key.threads;
    object["files"] = row.files;
    object["rpcs"] = row.rpcs;
    object["rpcs_per_file"] = row.rpcs_per_file();
    object["seconds"] = row.seconds;
    object["seconds_min"] = row.seconds_min;
    object["seconds_max"] = row.seconds_max;
    object["files_per_s"] = row.files_per_s();
    object["of_ceiling"] = nullptr;
    if (row.of_ceiling) object["of_ceiling"] = *row.of_ceiling;
    array.push_back(std::move(object));
  }
  return array.dump(2) + "\n";
}

std::string ColdTable(std::span<const ColdRow> rows) {
  std::string text =
      fmt::format("{:<22} {:<3} {:<5} {:>7} {:>8} {:>8} {:>9} {:>9} {:>19} {:>10} {:>10}\n",
                  "subject", "nfs", "mode", "threads", "files", "rpcs", "rpcs/file", "seconds",
                  "(min to max)", "files/s", "of ceiling");
  for (const ColdRow& row : rows) {
    text += fmt::format(
        "{:<22} v{:<2} {:<5} {:>7} {:>8} {:>8} {:>9.4f} {:>9.4f} {:>19} {:>10.0f} {:>10}\n",
        row.key.subject, row.key.version, NameOf(row.key.mode), row.key.threads, row.files,
        row.rpcs, row.rpcs_per_file(), row.seconds,
        fmt::format("({:.4f} to {:.4f})", row.seconds_min, row.seconds_max), row.files_per_s(),
        row.of_ceiling ? fmt::format("{:.2f}", *row.of_ceiling) : "-");
  }
  return text;
}

std::string FiguresText(std::span<const ColdRow> rows) {
  const std::string figures = DeepFigure(rows) + FiguresOf(rows, 3) + FiguresOf(rows, 4);
  if (figures.empty()) return {};
  return fmt::format("Figures to reach, with {} threads where nothing else is said\n{}",
                     kThreadsOfFigures, figures);
}

}  // namespace nfswalk::bench
