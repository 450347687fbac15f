#include "nfsclient/mount/mount_stats.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <sstream>

namespace nfswalk::mount {
namespace {

constexpr char kNoLabel[] = "-";

}  // namespace

std::vector<Sample> SamplesOf(const Stats& stats, const TransportStats& transport) {
  std::vector<Sample> samples{{"rpcs_total", "", stats.rpcs},
                              {"rpc_retries_total", "", transport.retries},
                              {"connections_opened_total", "", transport.connections_opened}};
  for (const auto& procedure : transport.procedures) {
    const std::string name(procedure.name);
    samples.push_back({"rpc_replies_total", name, procedure.replies});
    samples.push_back({"rpc_nanoseconds_total", name, procedure.total_ns});
    samples.push_back({"rpc_nanoseconds_max", name, procedure.max_ns});
  }
  samples.push_back({"walks_total", "rcu", stats.rcu_walks});
  samples.push_back({"walks_total", "ref", stats.ref_walks});
  samples.push_back({"path_cache_hits_total", "", stats.path_hits});
  for (size_t reason = 1; reason < kNeedRefCount; ++reason) {  // 0 is none
    const std::string name(NeedRefName(static_cast<NeedRef>(reason)));
    samples.push_back({"rcu_exits_total", name, stats.need_ref[reason]});
  }
  samples.push_back({"cached", "dentries", stats.dentries});
  samples.push_back({"cached", "inodes", stats.inodes});
  samples.push_back({"cached", "access_entries", stats.access_entries});
  samples.push_back({"cached", "credentials", stats.credentials});
  samples.push_back({"cache_limit", "dentries", stats.dentries_max});
  samples.push_back({"cache_limit", "inodes", stats.inodes_max});
  samples.push_back({"cache_limit", "access_entries", stats.access_entries_max});
  samples.push_back({"cache_shrinks_total", "", stats.shrinks});
  samples.push_back({"cache_shrunk_objects_total", "", stats.shrunk_objects});
  return samples;
}

std::string FormatSamples(const std::vector<Sample>& samples) {
  std::string text;
  for (const Sample& sample : samples) {
    text += fmt::format("{} {} {}\n", sample.metric, sample.label.empty() ? kNoLabel : sample.label,
                        sample.value);
  }
  return text;
}

std::vector<Sample> ParseSamples(std::string_view text) {
  std::vector<Sample> samples;
  std::istringstream lines{std::string(text)};
  for (Sample sample; lines >> sample.metric >> sample.label >> sample.value;) {
    if (sample.label == kNoLabel) sample.label.clear();
    samples.push_back(sample);
  }
  return samples;
}

std::expected<std::vector<Sample>, std::errc> ReadSamples(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return std::unexpected(std::errc{errno});
  const auto stats = std::make_unique<StatsText>();
  const int size = ioctl(fd, kStatsRequest, stats.get());
  const std::errc error{errno};
  close(fd);
  if (size < 0) return std::unexpected(error);
  return ParseSamples({stats->text, std::min(static_cast<size_t>(size), sizeof(stats->text))});
}

}  // namespace nfswalk::mount
