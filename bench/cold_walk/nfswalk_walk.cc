#include <system_error>
#include <utility>
#include <vector>

#include "bench/cold_walk/cold_subjects.h"
#include "fmt/format.h"
#include "nfsclient/client.h"
#include "nfsclient/protocol/nfs3.h"
#include "nfsclient/protocol/nfs4.h"

namespace nfswalk::bench {
namespace {

constexpr std::errc kOk{};
const Credential kRoot(0, 0);

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

MountOptions OptionsOf(const ColdPlace& place, const ColdSetting& setting) {
  MountOptions options = place.server.OptionsFor(place.directory);
  options.server.version = setting.version;
  options.compound = setting.compound;
  options.rdirplus = setting.list_ahead;
  return options;
}

std::expected<ColdTurn, std::string> WalkOnce(Client& client, const ColdPlace& place,
                                              const ColdSetting& setting) {
  std::vector<std::unique_ptr<WalkCalls>> calls;
  while (calls.size() < setting.threads) calls.push_back(std::make_unique<NfswalkCalls>(client));
  const uint64_t rpcs_before = client.stats().rpcs;
  const auto turn = Walk(setting.kind, place.tree, 1, calls, place.server.server_pid());
  if (!turn) return std::unexpected(turn.error());
  return ColdTurn{.turn = *turn, .rpcs = client.stats().rpcs - rpcs_before};
}

}  // namespace

std::string SubjectName(std::string_view who, const ColdSetting& setting) {
  return fmt::format("{}{}{}", who, setting.compound ? "" : " nocompound",
                     setting.list_ahead ? "" : " nordirplus");
}

ColdSubject MakeNfswalkWalk(const ColdPlace& place, const ColdSetting& setting) {
  return [place, setting]() -> std::expected<ColdTurn, std::string> {
    auto client = place.server.Mount(OptionsOf(place, setting));
    if (!client) return std::unexpected(std::move(client.error()));
    return WalkOnce(**client, place, setting);
  };
}

std::expected<Record, std::string> RecordWalk(const ColdPlace& place, ColdSetting setting) {
  setting.threads = 1;
  const MountOptions options = OptionsOf(place, setting);
  std::expected<std::unique_ptr<protocol::Protocol>, protocol::ConnectError> connected;
  place.server.InItsNetwork([&] {
    connected = setting.version == 3
                    ? protocol::Nfs3::ConnectNfs3(options.server, options.transport)
                    : protocol::Nfs4::ConnectNfs4(options.server, options.transport);
  });
  if (!connected) return std::unexpected(std::move(connected.error().message));
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
