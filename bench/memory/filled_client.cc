#include "bench/memory/filled_client.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/measure/terminal.h"
#include "bench/memory/synthetic_protocol.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint32_t kOrderSeed = 6;
constexpr uint32_t kAttributeTimeoutS = 24 * 60 * 60;

std::unexpected<std::string> Failed(std::string_view what, std::string_view path, std::errc error) {
  return std::unexpected(
      fmt::format("{} {}: {}", what, path, std::make_error_code(error).message()));
}

Outcome FillDirectory(Client& client, const SyntheticTree& tree, uint64_t directory) {
  const std::string path = tree.PathOfDirectory(directory);
  const auto each = [](const DirectoryEntry&) { return true; };
  std::errc error = client.ReadDir(path, kMemoryCredential, each);
  if (error != kOk) return Failed("list", path, error);
  const auto files = tree.EntriesOf({SyntheticTree::Kind::kDirectory, directory});
  for (uint64_t file = files.begin; file < files.end; ++file) {
    const std::string name = path + "/" + tree.NameOf({SyntheticTree::Kind::kFile, file});
    error = client.Access(name, kMayRead, kMemoryCredential);
    if (error != kOk) return Failed("access", name, error);
  }
  return {};
}

}  // namespace

const Credential kMemoryCredential(1000, 1000);

std::expected<std::unique_ptr<Client>, std::string> MountSynthetic(const SyntheticTree& tree) {
  MountOptions options;
  options.acregmin_s = options.acregmax_s = kAttributeTimeoutS;
  options.acdirmin_s = options.acdirmax_s = kAttributeTimeoutS;
  // Twice what is needed: near a limit a cache looks for what to give up.
  const uint64_t nodes = tree.files() + tree.directories() + tree.parts() + 1;
  options.dentries_max = options.inodes_max = options.access_entries_max = 2 * nodes;
  auto client = Client::MountOver(MakeSyntheticProtocol(tree), options);
  if (!client) return std::unexpected(client.error().message);
  return std::move(*client);
}

Outcome Fill(Client& client, const SyntheticTree& tree) {
  std::vector<uint64_t> directories(tree.directories());
  std::iota(directories.begin(), directories.end(), 0);
  std::mt19937 order(kOrderSeed);
  std::ranges::shuffle(directories, order);
  for (const uint64_t directory : directories) {
    if (Interrupted()) return {};
    if (Outcome filled = FillDirectory(client, tree, directory); !filled) return filled;
  }
  const Stats stats = client.stats();
  const uint64_t least = std::min({stats.dentries, stats.inodes, stats.access_entries});
  if (least >= tree.files()) return {};
  return std::unexpected(fmt::format("of {} files only {} are cached", tree.files(), least));
}

}  // namespace nfswalk::bench
