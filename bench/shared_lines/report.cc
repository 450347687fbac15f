#include "bench/shared_lines/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "fmt/format.h"

namespace nfswalk::bench {

namespace {

double PerVisit(uint64_t count, const SharedLinesRow& row) {
  return static_cast<double>(count) / static_cast<double>(row.visits);
}

// In the order in which they appear.
template <class Value>
std::vector<Value> Distinct(std::span<const SharedLinesRow> rows, Value SharedLinesRow::*member) {
  std::vector<Value> values;
  for (const SharedLinesRow& row : rows) {
    if (std::ranges::find(values, row.*member) == values.end()) values.push_back(row.*member);
  }
  return values;
}

std::string Cell(std::span<const SharedLinesRow> rows, const std::string& workload,
                 const std::string& policy, size_t threads) {
  for (const SharedLinesRow& row : rows) {
    if (row.workload != workload || row.policy != policy || row.threads != threads) continue;
    return fmt::format("{:.2f} / {:.2f}", PerVisit(row.lines.among_threads.writes, row),
                       PerVisit(row.lines.among_threads.reads, row));
  }
  return "";
}

}  // namespace

std::string SharedLinesTables(std::span<const SharedLinesRow> rows) {
  const auto threads = Distinct(rows, &SharedLinesRow::threads);
  std::string text;
  for (const std::string& workload : Distinct(rows, &SharedLinesRow::workload)) {
    text += fmt::format("\n{}: shared writes / reads a visit\n\n| threads  |", workload);
    for (const size_t count : threads) text += fmt::format(" {:>11} |", count);
    text += "\n|---|";
    for (size_t i = 0; i < threads.size(); ++i) text += "---|";
    text += '\n';
    for (const std::string& policy : Distinct(rows, &SharedLinesRow::policy)) {
      text += fmt::format("| {} |", policy);
      for (const size_t count : threads) {
        text += fmt::format(" {:>11} |", Cell(rows, workload, policy, count));
      }
      text += '\n';
    }
  }
  return text;
}

std::string SharedLinesJson(std::span<const SharedLinesRow> rows) {
  nlohmann::json all = nlohmann::json::array();
  for (const SharedLinesRow& row : rows) {
    const SharedLines& lines = row.lines;
    all.push_back({{"workload", row.workload},
                   {"policy", row.policy},
                   {"threads", row.threads},
                   {"visits", row.visits},
                   {"shared_writes", PerVisit(lines.among_threads.writes, row)},
                   {"shared_reads", PerVisit(lines.among_threads.reads, row)},
                   {"writes_after_callbacks", PerVisit(lines.after_callbacks.writes, row)},
                   {"reads_after_callbacks", PerVisit(lines.after_callbacks.reads, row)},
                   {"callbacks", PerVisit(lines.callbacks, row)}});
  }
  return all.dump(1) + '\n';
}

}  // namespace nfswalk::bench
