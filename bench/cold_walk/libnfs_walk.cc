#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <memory>
#include <utility>
#include <vector>

#include "bench/cold_walk/cold_subjects.h"
#include "bench/measure/libnfs_context.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

class LibnfsCalls final : public WalkCalls {
 public:
  explicit LibnfsCalls(LibnfsContext context) : context_(std::move(context)) {
    nfs_set_dircache(context_.get(), 0);
  }

  Outcome Stat(const std::string& path) override {
    nfs_stat_64 found;
    if (nfs_stat64(context_.get(), path.c_str(), &found) != 0) return Failed("stat", path);
    if (S_ISREG(found.nfs_mode)) return {};
    return std::unexpected("libnfs: " + path + " is no regular file");
  }

  // By READDIRPLUS, or READDIR with attributes in version 4.
  Outcome List(const std::string& directory, const EntryFound& found) override {
    nfsdir* opened = nullptr;
    if (nfs_opendir(context_.get(), directory.c_str(), &opened) != 0) {
      return Failed("list", directory);
    }
    while (const nfsdirent* entry = nfs_readdir(context_.get(), opened)) {
      const std::string_view name = entry->name;
      if (name != "." && name != "..") found(name, S_ISDIR(entry->mode));
    }
    nfs_closedir(context_.get(), opened);
    return {};
  }

  // Calls sent so far: libnfs puts each into one small write, and a synchronous caller has one
  // in flight at a time, so that each is one segment.
  uint64_t CallsSent() const {
    tcp_info info{};
    socklen_t bytes = sizeof info;
    getsockopt(nfs_get_fd(context_.get()), IPPROTO_TCP, TCP_INFO, &info, &bytes);
    return info.tcpi_data_segs_out;
  }

 private:
  std::unexpected<std::string> Failed(std::string_view what, const std::string& path) const {
    return std::unexpected(
        fmt::format("libnfs: {} {}: {}", what, path, nfs_get_error(context_.get())));
  }

  const LibnfsContext context_;
};

uint64_t CallsSent(const std::vector<const LibnfsCalls*>& all) {
  uint64_t sent = 0;
  for (const LibnfsCalls* each : all) sent += each->CallsSent();
  return sent;
}

}  // namespace

ColdSubject MakeLibnfsWalk(const ColdPlace& place, const ColdSetting& setting, uint64_t one_in) {
  return [place, setting, one_in]() -> std::expected<ColdTurn, std::string> {
    std::vector<std::unique_ptr<WalkCalls>> calls;
    std::vector<const LibnfsCalls*> counted;
    const std::string url = place.server.UrlOf(place.directory, setting.version);
    while (calls.size() < setting.threads) {
      auto context = ConnectLibnfs(place.server, url);
      if (!context) return std::unexpected(std::move(context.error()));
      auto mine = std::make_unique<LibnfsCalls>(std::move(*context));
      counted.push_back(mine.get());
      calls.push_back(std::move(mine));
    }
    const uint64_t sent_before = CallsSent(counted);
    const auto turn = Walk(setting.kind, place.tree, one_in, calls, ServerPidOf(place, setting));
    if (!turn) return std::unexpected(turn.error());
    return ColdTurn{.turn = *turn, .rpcs = CallsSent(counted) - sent_before};
  };
}

}  // namespace nfswalk::bench
