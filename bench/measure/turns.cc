#include "bench/measure/turns.h"

#include <algorithm>
#include <cmath>

#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

// A row has times if at least 1 / kPartThatCounts of the turns asked for were undisturbed.
constexpr size_t kPartThatCounts = 2;

}  // namespace

Spread SpreadOf(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {.median = median, .least = values.front(), .most = values.back()};
}

bool Turns::BeginRound() {
  if (Interrupted()) return false;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!Wants(row)) continue;
    ++rounds_;
    return true;
  }
  return false;
}

bool Turns::Wants(size_t row) const {
  const auto& [counted, disturbed, _] = rows_[row];
  return counted.size() < repetitions_ && counted.size() + disturbed < 2 * repetitions_;
}

void Turns::Add(size_t row, const Turn& turn) {
  TakenTurns& taken = rows_[row];
  if (turn.share >= kShareMin) {
    taken.counted.push_back(turn);
    return;
  }
  ++taken.disturbed;
  taken.best_disturbed_share = std::max(taken.best_disturbed_share, turn.share);
}

Outcome Turns::Run(const std::function<std::expected<Turn, std::string>(size_t row)>& take) {
  while (BeginRound()) {
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (!Wants(row)) continue;
      const auto turn = take(row);
      if (!turn) return std::unexpected(turn.error());
      if (Interrupted()) return {};
      Add(row, *turn);
    }
  }
  return {};
}

bool Turns::Complete(size_t row) const { return !Wants(row); }

std::string Turns::WhyDisturbed(size_t row) const {
  const auto& [counted, disturbed, best_share] = rows_[row];
  if (!counted.empty() && counted.size() * kPartThatCounts >= repetitions_) return {};
  return fmt::format(
      "other work on the machine: only {} of {} turns got {:.0f} % of the processor time they "
      "could "
      "use, the best of the others {:.0f} %",
      counted.size(), counted.size() + disturbed, 100 * kShareMin, std::floor(100 * best_share));
}

Spread Turns::Of(size_t row, const std::function<double(const Turn&)>& figure) const {
  std::vector<double> values;
  for (const Turn& turn : counted(row)) values.push_back(figure(turn));
  return SpreadOf(std::move(values));
}

void AddTiming(Row& row, const Turns& turns, size_t number, double processors) {
  if (const std::string reason = turns.WhyDisturbed(number); !reason.empty()) {
    row.Set("disturbed", reason);
    return;
  }
  const Spread cost_ns = turns.Of(number, [processors](const Turn& turn) {
    return turn.seconds * processors * 1e9 / static_cast<double>(turn.ops);
  });
  row.Set("ns_per_op", cost_ns.median)
      .Set("ns_min", cost_ns.least)
      .Set("ns_max", cost_ns.most)
      .Set("turns", turns.counted(number).size())
      .Set("repeated", turns.disturbed(number))
      .Set("share", turns.Of(number, [](const Turn& turn) { return turn.share; }).least);
}

void AddProcessorTime(Row& row, const Turns& turns, size_t number) {
  if (!turns.WhyDisturbed(number).empty()) return;
  const auto median_ns = [&](double Turn::*cpu_s) {
    return turns
        .Of(number,
            [=](const Turn& turn) { return turn.*cpu_s * 1e9 / static_cast<double>(turn.ops); })
        .median;
  };
  row.Set("cpu_ns", median_ns(&Turn::own_cpu_s))
      .Set("server_cpu_ns", median_ns(&Turn::server_cpu_s));
}

}  // namespace nfswalk::bench
