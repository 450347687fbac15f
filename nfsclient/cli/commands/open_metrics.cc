#include "nfsclient/cli/commands/open_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "nfsclient/cli/show/escape.h"

namespace nfswalk::cli {
namespace {

using mount::Sample;

// Returns the name of a metric's label.
std::string_view LabelNameOf(std::string_view metric) {
  if (metric.starts_with("rpc_")) return "procedure";
  if (metric.starts_with("fuse_")) return "opcode";
  if (metric.starts_with("walks")) return "mode";
  if (metric.starts_with("rcu_")) return "reason";
  return "kind";
}

// Returns the value of a label (OpenMetrics 1.0, ABNF of escaped-string): as `stats` shows it,
// since a reader refuses all of a text that is not UTF-8, and the text may come to a terminal.
std::string Quoted(std::string_view value) {
  std::string quoted = "\"";
  for (const char byte : Escape(value)) {
    if (byte == '"' || byte == '\\') quoted += '\\';
    quoted += byte;
  }
  return quoted + '"';
}

// The line that precedes the samples, "" if another metric has the family, too: without a type each
// is a family of its own name.
std::string TypeOf(std::string_view metric, const std::vector<std::string_view>& metrics) {
  const std::string_view family = mount::FamilyOf(metric);
  if (std::ranges::count(metrics, family, mount::FamilyOf) > 1) return "";
  return fmt::format("# TYPE nfswalk_{} {}\n", family, family == metric ? "gauge" : "counter");
}

}  // namespace

std::string OpenMetricsOf(const std::vector<MountSamples>& mounts) {
  std::vector<std::string_view> metrics;
  for (const MountSamples& mount : mounts) {
    for (const Sample& sample : mount.samples) {
      if (std::ranges::find(metrics, sample.metric) == metrics.end())
        metrics.push_back(sample.metric);
    }
  }
  std::string text;
  for (const std::string_view metric : metrics) {
    text += TypeOf(metric, metrics);
    for (const MountSamples& mount : mounts) {
      for (const Sample& sample : mount.samples) {
        if (sample.metric != metric) continue;
        std::string labels = "mount=" + Quoted(mount.directory);
        if (!sample.label.empty()) {
          labels += fmt::format(",{}={}", LabelNameOf(metric), Quoted(sample.label));
        }
        text += fmt::format("nfswalk_{}{{{}}} {}\n", metric, labels, sample.value);
      }
    }
  }
  return text + "# EOF\n";
}

}  // namespace nfswalk::cli
