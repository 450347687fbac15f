#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "bench/cold_walk/cold_tree.h"
#include "bench/data/contender.h"
#include "bench/measure/machine_share.h"
#include "bench/measure/terminal.h"

namespace nfswalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct StatSetting {
  int version = 3;
  bool batch = false;       // all by one call
  bool list_ahead = false;  // mount option rdirplus
  bool distant = false;
};

Outcome StatAll(Client& client, std::span<const std::string_view> paths, bool batch) {
  const Credential me = Credential::OfProcess();
  const auto refused = [] { return std::unexpected(std::string("a stat failed")); };
  if (batch) {
    std::vector<Result<Attributes>> results(paths.size());
    client.StatEach(paths, me, results);
    const bool all =
        std::ranges::all_of(results, [](const auto& each) { return each.has_value(); });
    return all ? Outcome() : refused();
  }
  for (const std::string_view path : paths) {
    if (Interrupted()) break;
    if (!client.Stat(path, me)) return refused();
  }
  return {};
}

// With a mount of its own.
std::expected<DataTurn, std::string> TakeTurn(const DataPlace& place, const ColdTree& tree,
                                              const StatSetting& setting) {
  MountOptions options = place.server.OptionsFor(place.directory + "/names" + ColdTree::kWalked);
  options.server.version = setting.version;
  options.server.minor_version = 0;
  options.rdirplus = setting.list_ahead;
  if (setting.distant) options.server.nfs_port = place.distant->port();
  const auto client = place.server.Mount(options);
  if (!client) return std::unexpected(client.error());
  const std::vector<std::string_view> paths(tree.paths().begin(), tree.paths().end());
  const uint64_t before = (*client)->stats().rpcs;
  const MachineShare machine(place.server.server_pid());
  const Clock::time_point started = Clock::now();
  const Outcome done = StatAll(**client, paths, setting.batch);
  const std::chrono::duration<double> took = Clock::now() - started;
  if (!done) return std::unexpected(done.error());
  DataTurn taken{.turn = {.ops = paths.size(), .seconds = took.count()},
                 .rpcs = (*client)->stats().rpcs - before};
  machine.AddTo(taken.turn);
  return taken;
}

}  // namespace

Outcome MakeNames(const DataPlace& place) {
  return place.server.Make(ColdTree(place.sizes.names).Build(), place.directory + "/names");
}

std::vector<Contender> BatchStats(const DataPlace& place) {
  const auto tree = std::make_shared<const ColdTree>(place.sizes.names);
  std::vector<Contender> all;
  for (const bool distant : {false, true}) {
    if (distant && place.distant == nullptr) continue;
    for (const int version : {3, 4}) {
      for (const bool list_ahead : {true, false}) {
        for (const bool batch : {true, false}) {
          const StatSetting setting{version, batch, list_ahead, distant};
          all.push_back(
              {.work = "stat",
               .subject = std::string(batch ? "nfswalk batch" : "nfswalk single") +
                          (list_ahead ? "" : " nordirplus"),
               .version = version,
               .distant = distant,
               .take = [&place, tree, setting] { return TakeTurn(place, *tree, setting); }});
        }
      }
    }
  }
  return all;
}

}  // namespace nfswalk::bench
