#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <span>
#include <utility>

#include "bench/data/contender.h"
#include "bench/measure/libnfs_context.h"
#include "bench/measure/machine_share.h"
#include "bench/measure/owned_fd.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kSmallBytes = 4 << 10;
// Without a zero byte: what was left out is not taken for it.
constexpr auto kSmallData = [] {
  std::array<std::byte, kSmallBytes> data{};
  for (size_t i = 0; i < data.size(); ++i) data[i] = std::byte(1 + i % 255);
  return data;
}();

std::unexpected<std::string> Failed(std::string_view what, const std::string& path) {
  return std::unexpected(fmt::format("{} {} failed", what, path));
}

// Creates, writes and closes a file.
using WriteFile = std::function<Outcome(const std::string& path)>;

// As many as the place says, in a new directory `name` of its own.
std::expected<DataTurn, std::string> CreateAll(const DataPlace& place, const std::string& name,
                                               const WriteFile& write) {
  DataTurn taken;
  const MachineShare machine(place.server.server_pid());
  const Clock::time_point started = Clock::now();
  for (uint64_t i = 0; i < place.sizes.small_files && !Interrupted(); ++i) {
    if (const Outcome written = write(fmt::format("{}/file{}", name, i)); !written) {
      return std::unexpected(written.error());
    }
  }
  const std::chrono::duration<double> took = Clock::now() - started;
  taken.turn = {.ops = place.sizes.small_files, .seconds = took.count()};
  machine.AddTo(taken.turn);
  return taken;
}

std::expected<DataTurn, std::string> ByNfswalk(const DataPlace& place, const std::string& name,
                                               int version) {
  MountOptions options = place.server.OptionsFor(place.directory);
  options.server.version = version;
  options.server.minor_version = 0;
  const auto client = place.server.Mount(options);
  if (!client) return std::unexpected(client.error());
  const Credential me = Credential::OfProcess();
  const auto write = [&](const std::string& path) -> Outcome {
    auto made = (*client)->CreateAndOpen(path, kMayWrite, 0644, /*exclusive=*/false, me);
    if (!made) return Failed("creating", path);
    if (made->file->PWrite(kSmallData, 0) != kSmallBytes) return Failed("writing", path);
    return made->file->Close() == std::errc{} ? Outcome() : Failed("closing", path);
  };
  // The directory is known, as it is to a caller that has just made it.
  if (!(*client)->Stat(name, me)) return Failed("looking up", name);
  const uint64_t before = (*client)->stats().rpcs;
  auto taken = CreateAll(place, name, write);
  if (taken) taken->rpcs = (*client)->stats().rpcs - before;
  return taken;
}

std::expected<DataTurn, std::string> ByLibnfs(const DataPlace& place, const std::string& name,
                                              int version) {
  const auto context = ConnectLibnfs(place.server, place.server.UrlOf(place.directory, version));
  if (!context) return std::unexpected(context.error());
  nfs_context* const nfs = context->get();
  return CreateAll(place, name, [&](const std::string& path) -> Outcome {
    nfsfh* file = nullptr;
    if (nfs_open2(nfs, ("/" + path).c_str(), O_WRONLY | O_CREAT, 0644, &file) != 0) {
      return Failed("creating", path);
    }
    // Over version 4 libnfs 4.0 encodes no longer WRITEs.
    const size_t most = version == 3 ? kSmallBytes : kSmallBytes / 2;
    size_t written = 0;
    while (written < kSmallBytes) {
      const int count = nfs_pwrite(nfs, file, written, most, kSmallData.data() + written);
      if (count <= 0) break;
      written += static_cast<size_t>(count);
    }
    const bool synced = nfs_fsync(nfs, file) == 0;
    const bool closed = nfs_close(nfs, file) == 0;
    if (written == kSmallBytes && synced && closed) return {};
    return Failed("writing", path);
  });
}

std::expected<DataTurn, std::string> ByTheKernel(const DataPlace& place, const std::string& name,
                                                 int) {
  return CreateAll(place, name, [&](const std::string& path) -> Outcome {
    const std::string full = place.backing + "/" + path;
    const OwnedFd file(open(full.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (file.get() < 0) return Failed("creating", path);
    const ssize_t written = write(file.get(), kSmallData.data(), kSmallBytes);
    const bool is_whole = written == static_cast<ssize_t>(kSmallBytes);
    return is_whole && fsync(file.get()) == 0 ? Outcome() : Failed("writing", path);
  });
}

// Reads what was created, by another mount than the one that did it.
Outcome CompareAll(const DataPlace& place, const std::string& name) {
  const auto client = place.server.Mount(place.server.OptionsFor(place.directory));
  if (!client) return std::unexpected(client.error());
  std::array<std::byte, kSmallBytes + 1> data;
  for (uint64_t i = 0; i < place.sizes.small_files && !Interrupted(); ++i) {
    const std::string path = fmt::format("{}/file{}", name, i);
    const auto file = (*client)->Open(path, kMayRead, Credential::OfProcess());
    if (!file || (*file)->PRead(data, 0) != kSmallBytes ||
        !std::ranges::equal(std::span(data).first(kSmallBytes), kSmallData)) {
      return std::unexpected(fmt::format("{} is not what was written", path));
    }
  }
  return {};
}

using Create = std::expected<DataTurn, std::string> (*)(const DataPlace& place,
                                                        const std::string& name, int version);

}  // namespace

std::vector<Contender> SmallFiles(const DataPlace& place) {
  std::vector<Contender> all;
  const auto add = [&](const char* subject, int version, Create create) {
    // A new name every time: the server must not find what it knows of the last one.
    const auto take = [&place, create, subject, version,
                       turn = 0]() mutable -> std::expected<DataTurn, std::string> {
      const std::string name = fmt::format("{} v{} {}", subject, version, turn++);
      std::expected<DataTurn, std::string> taken;
      const Outcome made =
          place.server.WithTree(EmptyTree(), place.directory + "/" + name, [&]() -> Outcome {
            taken = create(place, name, version);
            return taken ? CompareAll(place, name) : std::unexpected(taken.error());
          });
      if (!made) return std::unexpected(made.error());
      return taken;
    };
    all.push_back({.work = "create", .subject = subject, .version = version, .take = take});
  };
  for (const int version : {3, 4}) {
    add("nfswalk", version, ByNfswalk);
    add("libnfs sync", version, ByLibnfs);
  }
  if (!place.backing.empty()) add("kernel, tmpfs", 0, ByTheKernel);
  return all;
}

}  // namespace nfswalk::bench
