#include "bench/make_replay/report.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr double kCpuShareOfAQuietMachine = 0.95;

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string NeedRefText(const Stats& stats) {
  std::string text;
  for (size_t i = 1; i < kNeedRefCount; ++i) {
    if (stats.need_ref[i] == 0) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", NeedRefName(static_cast<NeedRef>(i)),
                        stats.need_ref[i]);
  }
  return text.empty() ? "-" : text;
}

double NsAt(double ops_per_s, const Row& row, unsigned cores) {
  if (ops_per_s == 0) return 0;
  return 1e9 * static_cast<double>(std::min<size_t>(row.threads, cores)) / ops_per_s;
}

// Null unless the trace has such a warm row.
const Row* FindRow(const std::vector<Row>& rows, const std::string& trace, std::string_view mode,
                   size_t threads) {
  const auto found = std::ranges::find_if(rows, [&](const Row& row) {
    return row.phase == Phase::kWarm && row.trace == trace && row.threads == threads &&
           (row.mode == mode || row.subject == mode);
  });
  return found == rows.end() ? nullptr : &*found;
}

std::string RatioText(const std::vector<Row>& rows, const std::string& trace, std::string_view what,
                      std::pair<std::string_view, size_t> above,
                      std::pair<std::string_view, size_t> below) {
  const Row* numerator = FindRow(rows, trace, above.first, above.second);
  const Row* denominator = FindRow(rows, trace, below.first, below.second);
  if (numerator == nullptr || denominator == nullptr) return {};
  return fmt::format("  {}: {:.2f}x\n", what,
                     MedianOpsPerSecond(*numerator) / MedianOpsPerSecond(*denominator));
}

std::string AnswerText(CallKind kind, int error, uint32_t mode, const std::string& size,
                       std::string_view link_text) {
  if (error != 0) return std::strerror(error);
  if (kind == CallKind::kStat) return fmt::format("mode {:o}, size {}", mode, size);
  if (kind == CallKind::kReadLink) return fmt::format("\"{}\"", link_text);
  return "success";
}

std::string_view KindName(CallKind kind) {
  switch (kind) {
    case CallKind::kStat:
      return "stat";
    case CallKind::kAccess:
      return "access";
    case CallKind::kReadLink:
      return "readlink";
    case CallKind::kOpen:
      return "open";
    case CallKind::kReadDir:
      return "getdents64";
    case CallKind::kExecute:
      return "execve";
    case CallKind::kChange:
      return "change";
  }
  return "?";
}

}  // namespace

Machine DescribeMachine(std::string backend) {
  utsname system;
  uname(&system);
  Machine machine{.cpu = CpuName(),
                  .cores = std::max(1U, std::thread::hardware_concurrency()),
                  .kernel = system.release,
                  .build = "debug",
                  .backend = std::move(backend)};
#ifdef NDEBUG
  machine.build = "optimised";
#endif
  return machine;
}

void AddTurn(Row& row, PassResult&& turn, const Stats& before, const Stats& after) {
  row.ops += turn.ops;
  row.mismatches += turn.mismatches;
  row.seconds += turn.seconds;
  row.cpu_seconds += turn.cpu_seconds;
  row.ops_per_s.push_back(static_cast<double>(turn.ops) / turn.seconds);
  row.latencies_ns.insert(row.latencies_ns.end(), turn.latencies_ns.begin(),
                          turn.latencies_ns.end());
  row.stats.rcu_walks += after.rcu_walks - before.rcu_walks;
  row.stats.peek_hits += after.peek_hits - before.peek_hits;
  row.stats.search_hits += after.search_hits - before.search_hits;
  row.stats.locked_hits += after.locked_hits - before.locked_hits;
  row.stats.rpcs += after.rpcs - before.rpcs;
  for (size_t i = 0; i < kNeedRefCount; ++i) {
    row.stats.need_ref[i] += after.need_ref[i] - before.need_ref[i];
  }
}

double MedianOpsPerSecond(const Row& row) {
  std::vector<double> rates = row.ops_per_s;
  if (rates.empty()) return 0;
  std::ranges::sort(rates);
  const size_t middle = rates.size() / 2;
  return rates.size() % 2 == 1 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
}

double NsPerOp(const Row& row, unsigned cores) { return NsAt(MedianOpsPerSecond(row), row, cores); }

double CpuShare(const Row& row, unsigned cores) {
  const double wanted = row.seconds * static_cast<double>(std::min<size_t>(row.threads, cores));
  return wanted == 0 ? 0 : row.cpu_seconds / wanted;
}

uint32_t Percentile(std::vector<uint32_t>& samples, double share) {
  if (samples.empty()) return 0;
  const auto rank = static_cast<size_t>(share * static_cast<double>(samples.size() - 1));
  std::ranges::nth_element(samples, samples.begin() + static_cast<ptrdiff_t>(rank));
  return samples[rank];
}

namespace {

// Empty if every warm row had the cores to itself.
std::string BusyMachineText(const std::vector<Row>& rows, unsigned cores) {
  double least = 1;
  for (const Row& row : rows) {
    if (row.phase == Phase::kWarm) least = std::min(least, CpuShare(row, cores));
  }
  if (least >= kCpuShareOfAQuietMachine) return {};
  return fmt::format(
      "\nOTHER WORK RAN ON THIS MACHINE: warm rows got as little as {:.0f} % of the processor time "
      "they "
      "could use.\nThe answers count; the times and ratios do not.\n",
      100 * least);
}

}  // namespace

std::string TableText(std::vector<Row>& rows, const Machine& machine) {
  std::string text = fmt::format(
      "\n{:<10} {:<13} {:<10} {:<4} {:>2} {:>10} {:>21} {:>8} {:>8} {:>9} {:>7} {:>10} {:>10} "
      "{:>5}  {}\n",
      "trace", "subject", "mode", "", "th", "ops/s", "(min-max)", "ns/op", "p50 ns", "p99 ns",
      "RPCs", "peek hits", "compared", "differ", "need-ref exits");
  for (Row& row : rows) {
    const auto [low, high] = std::ranges::minmax(row.ops_per_s);
    text += fmt::format(
        "{:<10} {:<13} {:<10} {:<4} {:>2} {:>10.0f} {:>21} {:>8.0f} {:>8} {:>9} {:>7} {:>10} "
        "{:>10} {:>5}  {}\n",
        row.trace, row.subject, row.mode, row.phase == Phase::kCold ? "cold" : "warm", row.threads,
        MedianOpsPerSecond(row), fmt::format("({:.0f}-{:.0f})", low, high),
        NsPerOp(row, machine.cores), Percentile(row.latencies_ns, 0.5),
        Percentile(row.latencies_ns, 0.99), row.stats.rpcs, row.stats.peek_hits, row.ops,
        row.mismatches, NeedRefText(row.stats));
  }
  text += fmt::format(
      "\nops/s: median over the turns of a row. ns/op: time of one call on one core, seconds * "
      "min(threads, "
      "{} cores) / calls.\np50, p99: every 64th call, the clock's own cost taken off. open is "
      "replayed as "
      "access(R_OK), the walk and the\npermission check that open(2) does. Directory listings run "
      "in the cold "
      "pass only. Not compared: sizes of directories.\n",
      machine.cores);
  return text + BusyMachineText(rows, machine.cores);
}

std::string RatiosText(const std::vector<Row>& rows) {
  std::string text;
  std::vector<std::string> traces;
  for (const Row& row : rows) {
    if (std::ranges::find(traces, row.trace) == traces.end()) traces.push_back(row.trace);
  }
  for (const std::string& trace : traces) {
    const std::string ratios =
        RatioText(rows, trace, "rcu-search over ref, 4 threads", {"rcu-search", 4}, {"ref", 4}) +
        RatioText(rows, trace, "rcu-search over kernel on tmpfs, 1 thread", {"rcu-search", 1},
                  {"kernel, tmpfs", 1}) +
        RatioText(rows, trace, "rcu-search, 2 threads over 1", {"rcu-search", 2},
                  {"rcu-search", 1});
    if (!ratios.empty()) text += fmt::format("{}\n{}", trace, ratios);
  }
  return text;
}

std::string MismatchText(const Mismatch& mismatch) {
  const ReplayCall& call = *mismatch.call;
  const std::string size =
      call.size_bytes == kSizeNotCompared ? "any" : std::to_string(call.size_bytes);
  return fmt::format("line {}: {} {}: recorded {}, got {}", call.trace_line, KindName(call.kind),
                     call.path, AnswerText(call.kind, call.error, call.mode, size, call.link_text),
                     AnswerText(call.kind, mismatch.answer.error, mismatch.answer.mode,
                                std::to_string(mismatch.answer.size_bytes), mismatch.link_text));
}

std::string CoverageText(const Trace& trace, const ReplayPlan& plan) {
  std::string text = fmt::format(
      "{} lines, {} stat calls, {} ENOENT answers; {} processes; tree of {} names\n", trace.lines,
      trace.stat_calls, trace.noent_answers, plan.streams(), plan.tree().size());
  if (trace.truncated_last_lines != 0) text += "the last line stops in the middle and is ignored\n";
  if (trace.resumed_without_start != 0) {
    text += fmt::format("{} calls began before the recording\n", trace.resumed_without_start);
  }
  text += fmt::format("to compare: {} calls (", plan.calls().size() + plan.listings().size());
  for (size_t i = 0; i < kCallKindCount; ++i) {
    if (plan.replayed_by_kind()[i] == 0) continue;
    text += fmt::format("{} {}, ", plan.replayed_by_kind()[i], KindName(static_cast<CallKind>(i)));
  }
  text.replace(text.size() - 2, 2, ")\n");
  for (size_t i = 0; i < kLeftOutCount; ++i) {
    if (plan.left_out()[i] == 0) continue;
    text += fmt::format("left out: {:>6}  {}\n", plan.left_out()[i],
                        LeftOutText(static_cast<LeftOut>(i)));
  }
  for (const std::string& name : plan.learned().conflicting_names()) {
    text += fmt::format("          conflicting answers: {}\n", name);
  }
  return text;
}

std::string WriteJson(const std::string& file, std::vector<Row>& rows, const Machine& machine) {
  nlohmann::ordered_json json;
  json["bench"] = "make_replay";
  json["machine"] = {{"cpu", machine.cpu},
                     {"cores", machine.cores},
                     {"kernel", machine.kernel},
                     {"build", machine.build},
                     {"backend", machine.backend}};
  json["rows"] = nlohmann::ordered_json::array();
  for (Row& row : rows) {
    nlohmann::ordered_json need_ref = nlohmann::ordered_json::object();
    for (size_t i = 1; i < kNeedRefCount; ++i) {
      need_ref[std::string(NeedRefName(static_cast<NeedRef>(i)))] = row.stats.need_ref[i];
    }
    const auto [slowest, fastest] = std::ranges::minmax(row.ops_per_s);
    json["rows"].push_back({{"subject", row.subject},
                            {"mode", row.mode},
                            {"threads", row.threads},
                            {"ops", row.ops},
                            {"ops_per_s", MedianOpsPerSecond(row)},
                            {"ns_per_op", NsPerOp(row, machine.cores)},
                            {"ns_min", NsAt(fastest, row, machine.cores)},
                            {"ns_max", NsAt(slowest, row, machine.cores)},
                            {"rpcs", row.stats.rpcs},
                            {"compared", row.ops},
                            {"mismatches", row.mismatches},
                            {"need_ref", need_ref},
                            {"trace", row.trace},
                            {"phase", row.phase == Phase::kCold ? "cold" : "warm"},
                            {"p50_ns", Percentile(row.latencies_ns, 0.5)},
                            {"p99_ns", Percentile(row.latencies_ns, 0.99)},
                            {"cpu_share", CpuShare(row, machine.cores)},
                            {"peek_hits", row.stats.peek_hits}});
  }
  std::ofstream stream(file);
  // Names of a trace may hold any bytes.
  stream << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  stream.flush();
  return stream ? "" : fmt::format("cannot write {}", file);
}

}  // namespace nfswalk::bench
