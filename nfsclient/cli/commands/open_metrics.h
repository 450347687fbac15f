// open_metrics: what `nfswalk stats --openmetrics` prints (OpenMetrics 1.0, which Prometheus reads).
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_CLI_COMMANDS_OPEN_METRICS_H_
#define NFSWALK_NFSCLIENT_CLI_COMMANDS_OPEN_METRICS_H_

#include <string>
#include <vector>

#include "nfsclient/mount/mount_stats.h"

namespace nfswalk::cli {

struct MountSamples {
  std::string directory;
  std::vector<mount::Sample> samples;
};

// Returns a text of each metric once, with the samples of all mounts, whose label "mount" is the
// directory. A metric that is a counter of one mount and a gauge of another has no type.
// Preconditions: the directories differ, and no sample of a mount comes twice.
std::string OpenMetricsOf(const std::vector<MountSamples>& mounts);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COMMANDS_OPEN_METRICS_H_
