#include <chrono>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bench/cold_walk/cold_subjects.h"
#include "bench/measure/machine_share.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"
#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/client.h"
#include "nfsclient/nfs3/nfs3.h"
#include "nfsclient/nfs4/nfs4.h"

namespace nfswalk::bench {
namespace {

const Credential kRoot(0, 0);
// Lifetime of cached attributes, for the walk that finds them timed out (WalkKind::kExpired).
constexpr uint32_t kLifetimeS = 3;

std::unexpected<std::string> Failed(std::string_view what, std::string_view path, std::errc error) {
  return std::unexpected(
      fmt::format("{} {}: {}", what, path, std::make_error_code(error).message()));
}

class NfswalkCalls final : public WalkCalls {
 public:
  explicit NfswalkCalls(Client& client) : client_(client) {}

  Outcome Stat(const std::string& path) override {
    const auto found = client_.Stat(path, kRoot);
    if (!found) return Failed("stat", path, found.error());
    if (found->type == protocol::FileType::kRegular) return {};
    return std::unexpected(path + " is no regular file");
  }

  Outcome List(const std::string& directory, const EntryFound& found) override {
    Outcome outcome;
    const std::errc listed = client_.ReadDir(directory, kRoot, [&](const DirectoryEntry& entry) {
      if (entry.attributes) {
        found(entry.name, entry.attributes->type == protocol::FileType::kDirectory);
      } else {
        outcome = std::unexpected(
            fmt::format("the server lists {} in {} without attributes", entry.name, directory));
      }
      return outcome.has_value();
    });
    if (listed != kOk) return Failed("list", directory, listed);
    return outcome;
  }

 private:
  Client& client_;
};

class FileCount final : public cli::TreeVisitor {
 public:
  void Enter(const cli::TreeEntry& entry) override {
    files_ += entry.attributes.type != protocol::FileType::kDirectory;
  }
  void Fail(const std::string& path, std::errc error) override {
    outcome_ = Failed("list", path, error);
  }
  bool done() const override { return !outcome_ || Interrupted(); }

  const Outcome& outcome() const { return outcome_; }
  uint64_t files() const { return files_; }

 private:
  Outcome outcome_;
  uint64_t files_ = 0;
};

// The walk of `nfswalk find`, which has directories listed ahead of the one thread that looks.
std::expected<Turn, std::string> FindByOne(Client& client, const ColdPlace& place,
                                           const ColdSetting& setting) {
  const MachineShare machine(ServerPidOf(place, setting));
  const auto started = std::chrono::steady_clock::now();
  FileCount count;
  cli::WalkTree(client, kRoot, "/", {}, count);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  if (!count.outcome()) return std::unexpected(count.outcome().error());
  if (count.files() != FilesOf(WalkKind::kFind, place.tree, 1) && !Interrupted()) {
    return std::unexpected(fmt::format("{} files were found", count.files()));
  }
  Turn turn{.ops = count.files(), .seconds = took.count()};
  machine.AddTo(turn);
  return turn;
}

// All files of a walk by path in one call.
std::expected<Turn, std::string> StatBatch(Client& client, const ColdPlace& place) {
  const auto& files = place.tree.paths();
  const std::vector<std::string_view> paths(files.begin(), files.end());
  std::vector<Result<Attributes>> results(paths.size());
  const MachineShare machine(place.server.server_pid());
  const auto started = std::chrono::steady_clock::now();
  client.StatEach(paths, kRoot, results);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!results[i]) return Failed("stat", paths[i], results[i].error());
    if (results[i]->type == protocol::FileType::kRegular) continue;
    return std::unexpected(files[i] + " is no regular file");
  }
  Turn turn{.ops = paths.size(), .seconds = took.count()};
  machine.AddTo(turn);
  return turn;
}

std::expected<ColdTurn, std::string> WalkOnce(Client& client, const ColdPlace& place,
                                              const ColdSetting& setting) {
  std::vector<std::unique_ptr<WalkCalls>> calls;
  while (calls.size() < setting.threads) calls.push_back(std::make_unique<NfswalkCalls>(client));
  const uint64_t rpcs_before = client.stats().rpcs;
  const auto turn = setting.kind == WalkKind::kBatch ? StatBatch(client, place)
                    : setting.kind == WalkKind::kFind && setting.threads == 1
                        ? FindByOne(client, place, setting)
                        : Walk(setting.kind, place.tree, 1, calls, ServerPidOf(place, setting));
  if (!turn) return std::unexpected(turn.error());
  return ColdTurn{.turn = *turn, .rpcs = client.stats().rpcs - rpcs_before};
}

}  // namespace

std::expected<double, std::string> RoundTrip(const ColdPlace& place, const ColdSetting& setting) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kCalls = 1001;
  const auto protocol = ConnectProtocol(place, setting);
  if (!protocol) return std::unexpected(protocol.error());
  const auto root = (*protocol)->GetRoot(kRoot);
  if (root.error != kOk) return Failed("get", "the root", root.error);
  std::vector<double> took_s;
  while (took_s.size() < kCalls) {
    const Clock::time_point started = Clock::now();
    const auto reply = (*protocol)->GetAttributes(root.handle, kRoot);
    took_s.push_back(std::chrono::duration<double>(Clock::now() - started).count());
    if (reply.error != kOk) return Failed("GETATTR of", "the root", reply.error);
  }
  return SpreadOf(std::move(took_s)).median;
}

std::string SubjectName(std::string_view who, const ColdSetting& setting) {
  const std::string via = setting.via == Via::kDistant  ? fmt::format(" {} ms", kRoundTrip.count())
                          : setting.via == Via::kMemory ? " memory"
                                                        : "";
  return fmt::format("{}{}{}{}", who, setting.compound ? "" : " nocompound",
                     setting.list_ahead ? "" : " nordirplus", via);
}

pid_t ServerPidOf(const ColdPlace& place, const ColdSetting& setting) {
  return setting.via == Via::kMemory ? place.memory_pid : place.server.server_pid();
}

MountOptions OptionsOf(const ColdPlace& place, const ColdSetting& setting) {
  MountOptions options =
      place.server.OptionsFor(setting.kind == WalkKind::kLarge ? place.large : place.directory);
  options.server.version = setting.version;
  options.server.minor_version = 0;
  options.compound = setting.compound;
  options.rdirplus = setting.list_ahead;
  if (setting.via == Via::kDistant) options.server.nfs_port = place.distant_port;
  if (setting.via == Via::kMemory) options.server.nfs_port = place.memory_port;
  if (setting.kind == WalkKind::kExpired) {
    options.acregmin_s = options.acregmax_s = kLifetimeS;
    options.acdirmin_s = options.acdirmax_s = kLifetimeS;
  }
  return options;
}

std::expected<std::unique_ptr<protocol::Protocol>, std::string> ConnectProtocol(
    const ColdPlace& place, const ColdSetting& setting) {
  const MountOptions to = OptionsOf(place, setting);
  std::expected<std::unique_ptr<protocol::Protocol>, protocol::ConnectError> connected;
  place.server.InItsNetwork([&] {
    connected = setting.version == 3 ? protocol::Nfs3::ConnectNfs3(to.server, to.transport)
                                     : protocol::Nfs4::ConnectNfs4(to.server, to.transport);
  });
  if (!connected) return std::unexpected(std::move(connected.error().message));
  return std::move(*connected);
}

ColdSubject MakeNfswalkWalk(const ColdPlace& place, const ColdSetting& setting) {
  return [place, setting]() -> std::expected<ColdTurn, std::string> {
    auto client = place.server.Mount(OptionsOf(place, setting));
    if (!client) return std::unexpected(std::move(client.error()));
    if (setting.kind == WalkKind::kLarge) {
      const auto round_trip_s = RoundTrip(place, setting);
      if (!round_trip_s) return std::unexpected(round_trip_s.error());
      auto walked = WalkOnce(**client, place, setting);
      if (walked) walked->turn.round_trip_s = *round_trip_s;
      return walked;
    }
    if (setting.kind == WalkKind::kExpired) {
      if (auto cold = WalkOnce(**client, place, setting); !cold) return cold;
      std::this_thread::sleep_for(std::chrono::seconds(kLifetimeS + 1));
    }
    return WalkOnce(**client, place, setting);
  };
}

std::expected<Record, std::string> RecordWalk(const ColdPlace& place, ColdSetting setting) {
  setting.threads = 1;
  const MountOptions options = OptionsOf(place, setting);
  auto connected = ConnectProtocol(place, setting);
  if (!connected) return std::unexpected(std::move(connected.error()));
  Record record;
  auto client = Client::MountOver(
      std::make_unique<RecordingProtocol>(std::move(*connected), record), options);
  if (!client) return std::unexpected(std::move(client.error().message));
  if (auto walked = WalkOnce(**client, place, setting); !walked) {
    return std::unexpected(std::move(walked.error()));
  }
  return record;
}

}  // namespace nfswalk::bench
