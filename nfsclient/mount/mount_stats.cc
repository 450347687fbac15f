#include "nfsclient/mount/mount_stats.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace nfswalk::mount {
namespace {

constexpr char kNoLabel[] = "-";
constexpr std::string_view kDirectoryKey = "path";
constexpr std::string_view kTotal = "_total";
// The time since when a counter counts (OpenMetrics 1.0, "Counter").
constexpr std::string_view kCreated = "_created";

// Independent of the locale.
bool IsMetricByte(char byte) { return (byte >= 'a' && byte <= 'z') || byte == '_'; }
bool IsLabelByte(char byte) {
  return IsMetricByte(byte) || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         byte == '.' || byte == '-';
}
bool IsOf(std::string_view text, bool (*accepts)(char)) {
  return !text.empty() && std::ranges::all_of(text, accepts);
}

// Whether the sample's name is free in OpenMetrics and in JSON, where a metric is one number or an
// object of its labels.
class SampleNames {
 public:
  bool Take(const Sample& sample) {
    const std::string family(FamilyOf(sample.metric));
    const Sample& first = families_.try_emplace(family, sample).first->second;
    return first.metric == sample.metric && first.label.empty() == sample.label.empty() &&
           names_.emplace(sample.metric, sample.label).second;
  }

 private:
  std::map<std::string, Sample> families_;  // the first sample of each
  std::set<std::pair<std::string, std::string>> names_;
};

}  // namespace

std::string_view FamilyOf(std::string_view metric) {
  return metric.ends_with(kTotal) ? metric.substr(0, metric.size() - kTotal.size()) : metric;
}

std::vector<Sample> SamplesOf(const Stats& stats, const TransportStats& transport) {
  std::vector<Sample> samples{{"rpcs_total", "", stats.rpcs},
                              {"rpc_retries_total", "", transport.retries},
                              {"connections_opened_total", "", transport.connections_opened},
                              {"back_channel", "", transport.has_back_channel ? 1u : 0u},
                              {"callbacks_total", "", transport.callbacks}};
  for (const auto& procedure : transport.procedures) {
    const std::string name(procedure.name);
    samples.push_back({"rpc_replies_total", name, procedure.replies});
    samples.push_back({"rpc_nanoseconds_total", name, procedure.total_ns});
    samples.push_back({"rpc_nanoseconds_max", name, procedure.max_ns});
  }
  samples.push_back({"delegations_held", "", transport.delegations.held});
  samples.push_back({"delegations_total", "granted", transport.delegations.granted});
  samples.push_back({"delegations_total", "refused", transport.delegations.refused});
  samples.push_back({"delegations_total", "used", stats.delegated_opens});
  samples.push_back({"delegations_total", "recalled", transport.delegations.recalled});
  samples.push_back({"delegations_total", "returned", transport.delegations.returned});
  samples.push_back({"delegations_total", "revoked", transport.delegations.revoked});
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

std::optional<std::vector<Sample>> ParseSamples(std::string_view text) {
  std::vector<Sample> samples;
  SampleNames names;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t label = line.find(' ');
    const size_t value = line.rfind(' ');
    if (label == value) return std::nullopt;
    Sample sample{std::string(line.substr(0, label)),
                  std::string(line.substr(label + 1, value - label - 1))};
    const auto [end, error] =
        std::from_chars(line.data() + value + 1, line.data() + line.size(), sample.value);
    const bool is_number = error == std::errc{} && end == line.data() + line.size();
    if (!is_number || !IsOf(sample.metric, IsMetricByte) || sample.metric == kDirectoryKey ||
        sample.metric.ends_with(kCreated) || !IsOf(sample.label, IsLabelByte)) {
      return std::nullopt;
    }
    if (sample.label == kNoLabel) sample.label.clear();
    if (!names.Take(sample)) return std::nullopt;
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::expected<std::vector<Sample>, std::errc> ReadSamples(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_CLOEXEC | kStatsOpen);
  if (fd < 0) return std::unexpected(std::errc{errno});
  const auto stats = std::make_unique<StatsText>();
  const int size = ioctl(fd, kStatsRequest, stats.get());
  const std::errc error{errno};
  close(fd);
  if (size < 0) return std::unexpected(error);
  auto samples =
      ParseSamples({stats->text, std::min(static_cast<size_t>(size), sizeof(stats->text))});
  if (!samples) return std::unexpected(std::errc::bad_message);
  return *std::move(samples);
}

}  // namespace nfswalk::mount
