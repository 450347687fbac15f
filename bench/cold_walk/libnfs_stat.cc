#include "bench/cold_walk/libnfs_stat.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <nfsc/libnfs.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <utility>
#include <vector>

#include "bench/cold_walk/work_crew.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

struct ContextCloser {
  void operator()(nfs_context* context) const { nfs_destroy_context(context); }
};
using Context = std::unique_ptr<nfs_context, ContextCloser>;

std::string UrlOf(const protocol::ServerAddress& server, int version) {
  std::string url =
      fmt::format("nfs://{}{}?version={}&uid=0&gid=0", server.host, server.export_path, version);
  if (server.nfs_port != 0) url += fmt::format("&nfsport={}", server.nfs_port);
  if (version == 3 && server.mount_port != 0)
    url += fmt::format("&mountport={}", server.mount_port);
  return url;
}

std::expected<Context, std::string> Connect(const std::string& url) {
  Context context(nfs_init_context());
  if (context == nullptr) return std::unexpected("libnfs: out of memory");
  nfs_url* parsed = nfs_parse_url_dir(context.get(), url.c_str());
  if (parsed == nullptr) return std::unexpected(fmt::format("libnfs does not read {}", url));
  // Its reconnecting repeats calls that may not be repeated and can hand out the wrong reply.
  nfs_set_autoreconnect(context.get(), 0);
  nfs_set_dircache(context.get(), 0);
  const int failed = nfs_mount(context.get(), parsed->server, parsed->path);
  nfs_destroy_url(parsed);
  if (failed != 0) {
    return std::unexpected(
        fmt::format("libnfs cannot mount {}: {}", url, nfs_get_error(context.get())));
  }
  return context;
}

// Calls sent on a connection so far: libnfs puts each into one small write, and a synchronous
// caller has one under way at a time, so that each is one segment.
uint64_t CallsSent(nfs_context* context) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  getsockopt(nfs_get_fd(context), IPPROTO_TCP, TCP_INFO, &info, &bytes);
  return info.tcpi_data_segs_out;
}

class LibnfsSubject final : public ColdSubject {
 public:
  LibnfsSubject(const ColdPlace& place, int version, size_t threads, uint64_t one_in)
      : place_(place), one_in_(one_in), key_{"libnfs sync", version, ColdMode::kPath, threads} {}

  const ColdKey& key() const override { return key_; }
  std::expected<ColdTurn, std::string> Run(const std::atomic<bool>& stop) override {
    std::vector<Context> contexts;
    const std::string url = UrlOf(place_.server.OptionsFor(place_.directory).server, key_.version);
    std::string error;
    place_.server.InItsNetwork([&] {
      while (contexts.size() < key_.threads && error.empty()) {
        auto context = Connect(url);
        if (context) contexts.push_back(std::move(*context));
        if (!context) error = std::move(context.error());
      }
    });
    if (!error.empty()) return std::unexpected(std::move(error));
    const uint64_t sent_before = CallsSent(contexts);
    std::atomic<uint64_t> files{0};
    const auto seconds = RunCrew(key_.threads, [&](size_t thread) {
      return StatShare(contexts[thread].get(), thread, files, stop);
    });
    if (!seconds) return std::unexpected(seconds.error());
    return ColdTurn{
        .files = files.load(), .rpcs = CallsSent(contexts) - sent_before, .seconds = *seconds};
  }

 private:
  static uint64_t CallsSent(const std::vector<Context>& contexts) {
    uint64_t calls = 0;
    for (const Context& context : contexts) calls += bench::CallsSent(context.get());
    return calls;
  }

  std::string StatShare(nfs_context* context, size_t thread, std::atomic<uint64_t>& files,
                        const std::atomic<bool>& stop) const {
    const std::vector<std::string>& paths = place_.tree.paths();
    const size_t stride = key_.threads * one_in_;
    for (size_t i = thread * one_in_; i < paths.size() && !stop.load(); i += stride) {
      const std::string path = "/" + paths[i];
      nfs_stat_64 found;
      if (nfs_stat64(context, path.c_str(), &found) != 0) {
        return fmt::format("libnfs: stat {}: {}", path, nfs_get_error(context));
      }
      if (!S_ISREG(found.nfs_mode)) return "libnfs: " + path + " is no regular file";
      files.fetch_add(1);
    }
    return {};
  }

  const ColdPlace place_;
  const uint64_t one_in_;
  const ColdKey key_;
};

}  // namespace

std::unique_ptr<ColdSubject> MakeLibnfsSubject(const ColdPlace& place, int version, size_t threads,
                                               uint64_t one_in) {
  return std::make_unique<LibnfsSubject>(place, version, threads, one_in);
}

}  // namespace nfswalk::bench
