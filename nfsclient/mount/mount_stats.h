// mount_stats: what `nfswalk stats` asks the process of a mount: an ioctl(2) of any of its
// directories, answered with samples as text.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_MOUNT_STATS_H_
#define NFSWALK_NFSCLIENT_MOUNT_MOUNT_STATS_H_

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk::mount {

// Answers with the number of bytes of the text in its argument. Others: ENOTTY.
struct StatsText {
  char text[16'000];
};
inline constexpr unsigned long kStatsRequest = _IOR('N', 1, StatsText);

// Flags of open(2) by which a directory is opened for that: without asking the server, which may
// hang. Appending means nothing to a directory; a listing asks then.
inline constexpr int kStatsOpen = O_DIRECTORY | O_APPEND;

// A counter or a level, as OpenMetrics has it: "rpc_replies_total" of the procedure "READ".
struct Sample {
  std::string metric;
  std::string label;  // empty: the metric has one sample
  uint64_t value = 0;

  friend bool operator==(const Sample&, const Sample&) = default;
};

// The family of a metric (OpenMetrics 1.0, "Counter"): its counter has the suffix "_total", its
// gauge none.
std::string_view FamilyOf(std::string_view metric);

std::vector<Sample> SamplesOf(const Stats& stats, const TransportStats& transport);

// A line for each, and back. Without a value where a line is none, as any file system of FUSE may
// answer the ioctl. Names are safe for a terminal, JSON and OpenMetrics: metrics have lower-case
// letters and '_', labels letters, digits and "_.-". None is "path", which JSON has already, and
// none comes twice: no label of a metric, no metric with labels and without, no family of
// OpenMetrics as a counter and as a gauge. None ends in "_created", which is a counter's there.
std::string FormatSamples(const std::vector<Sample>& samples);
std::optional<std::vector<Sample>> ParseSamples(std::string_view text);

// Asks the mount that `directory` is in. Errors: those of open(2);
// inappropriate_io_control_operation and bad_message where it is no mount of nfswalk's.
std::expected<std::vector<Sample>, std::errc> ReadSamples(const std::string& directory);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_MOUNT_STATS_H_
