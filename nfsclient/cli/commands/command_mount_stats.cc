#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/open_metrics.h"
#include "nfsclient/cli/show/error_text.h"
#include "nfsclient/cli/show/escape.h"
#include "nfsclient/cli/show/format.h"
#include "nfsclient/mount/mount_stats.h"

namespace nfswalk::cli {
namespace {

using mount::Sample;

std::string TextOf(const MountSamples& mount) {
  size_t width = 0;
  for (const Sample& sample : mount.samples) {
    width = std::max(width, sample.metric.size() + sample.label.size() + 1);
  }
  std::string text = Escape(mount.directory) + ":\n";
  for (const Sample& sample : mount.samples) {
    const std::string name =
        sample.label.empty() ? sample.metric : sample.metric + ' ' + sample.label;
    text += fmt::format("  {:<{}}  {:>14}\n", name, width, sample.value);
  }
  return text;
}

// A metric with labels is an object of them. Samples of one metric need not follow each other.
JsonObject JsonOf(const MountSamples& mount) {
  JsonObject object = PathJson(mount.directory);
  std::vector<std::pair<std::string_view, JsonObject>> labelled;
  for (const Sample& sample : mount.samples) {
    if (sample.label.empty()) {
      object.Set(sample.metric, sample.value);
      continue;
    }
    auto metric =
        std::ranges::find(labelled, sample.metric, [](const auto& of) { return of.first; });
    if (metric == labelled.end()) metric = labelled.insert(metric, {sample.metric, {}});
    metric->second.Set(sample.label, sample.value);
  }
  for (const auto& [metric, values] : labelled) object.Set(metric, values);
  return object;
}

}  // namespace

ExitCode RunMountStats(Console& console, const CommonOptions& common,
                       const MountStatsOptions& options) {
  ExitCode code = kExitOk;
  std::vector<MountSamples> mounts;
  std::set<std::string_view> named;
  for (const std::string& directory : common.paths) {
    // OpenMetrics refuses a sample that comes twice.
    if (!named.insert(directory).second) continue;
    auto samples = mount::ReadSamples(directory);
    if (samples) {
      mounts.push_back({directory, *std::move(samples)});
      continue;
    }
    const bool other = samples.error() == std::errc::inappropriate_io_control_operation ||
                       samples.error() == std::errc::bad_message;
    console.Complain(
        fmt::format("stats '{}': {}", Escape(directory),
                    other ? "not in a mount of nfswalk" : ErrorMessage(samples.error())));
    code = kExitPathFailed;
  }
  if (options.openmetrics) {
    console.Print(OpenMetricsOf(mounts));
    return code;
  }
  for (const MountSamples& mount : mounts) {
    console.Print(common.json ? JsonLine(JsonOf(mount)) : TextOf(mount));
  }
  return code;
}

}  // namespace nfswalk::cli
