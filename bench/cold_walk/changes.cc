#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "bench/cold_walk/cold_subjects.h"
#include "bench/measure/machine_share.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kName = "made";
constexpr uint32_t kMode = 0644;
const Credential kRoot(0, 0);

std::unexpected<std::string> Failed(std::string_view what, std::errc error) {
  return std::unexpected(fmt::format("{}: {}", what, std::make_error_code(error).message()));
}

// The directory of ColdTree::kDeepFile.
std::string_view Directory() {
  const std::string_view file = ColdTree::kDeepFile;
  return file.substr(0, file.rfind('/'));
}

// Times one turn's calls of `change`, after one that warms the caches.
template <class Change, class RpcsSent>
std::expected<ColdTurn, std::string> TakeChanges(const ColdPlace& place, Change&& change,
                                                 RpcsSent&& rpcs_sent) {
  if (Outcome changed = change(); !changed) return std::unexpected(std::move(changed.error()));
  const uint64_t rpcs_before = rpcs_sent();
  const MachineShare machine(place.server.server_pid());
  const auto started = std::chrono::steady_clock::now();
  Turn turn;
  const uint64_t changes = FilesOf(WalkKind::kChanges, place.tree, 1);
  for (; turn.ops < changes && !Interrupted(); ++turn.ops) {
    if (Outcome changed = change(); !changed) return std::unexpected(std::move(changed.error()));
  }
  turn.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  machine.AddTo(turn);
  return ColdTurn{.turn = turn, .rpcs = rpcs_sent() - rpcs_before};
}

}  // namespace

ColdSubject MakeNfswalkChanges(const ColdPlace& place, const ColdSetting& setting) {
  return [place, setting]() -> std::expected<ColdTurn, std::string> {
    const auto client = place.server.Mount(OptionsOf(place, setting));
    if (!client) return std::unexpected(client.error());
    const std::string path = fmt::format("{}/{}", Directory(), kName);
    const auto change = [&]() -> Outcome {
      const auto made = (*client)->Create(path, kMode, /*exclusive=*/true, kRoot);
      if (!made) return Failed("create", made.error());
      const std::errc removed = (*client)->Unlink(path, kRoot);
      if (removed != kOk) return Failed("unlink", removed);
      return {};
    };
    return TakeChanges(place, change, [&] { return (*client)->stats().rpcs; });
  };
}

ColdSubject MakeRawChanges(const ColdPlace& place, const ColdSetting& setting) {
  return [place, setting]() -> std::expected<ColdTurn, std::string> {
    const auto connected = ConnectProtocol(place, setting);
    if (!connected) return std::unexpected(connected.error());
    protocol::Protocol& protocol = **connected;
    const auto root = protocol.GetRoot(kRoot);
    if (root.error != kOk) return Failed("root", root.error);
    protocol::FileHandle directory = root.handle;
    for (std::string_view rest = Directory(); !rest.empty();) {
      rest.remove_prefix(1);  // the slash
      const size_t length = std::min(rest.find('/'), rest.size());
      const auto found = protocol.Lookup(directory, rest.substr(0, length), kRoot);
      if (found.error != kOk) return Failed("LOOKUP", found.error);
      directory = found.handle;
      rest.remove_prefix(length);
    }
    const auto change = [&]() -> Outcome {
      const auto made =
          protocol.Create(directory, kName, protocol::CreateMode::kGuarded, {.mode = kMode}, kRoot);
      if (made.error != kOk) return Failed("CREATE", made.error);
      const auto removed = protocol.Remove(directory, kName, {}, kRoot);
      if (removed.error != kOk) return Failed("REMOVE", removed.error);
      return {};
    };
    return TakeChanges(place, change, [&] { return protocol.rpcs_sent(); });
  };
}

}  // namespace nfswalk::bench
