#include "bench/make_replay/replay_server.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "bench/make_replay/owned_fd.h"
#include "bench/make_replay/prepare_local.h"
#include "bench/make_replay/prepare_nfs.h"
#include "fmt/format.h"
#include "tests/fixtures/ganesha_server.h"

namespace nfswalk::bench {
namespace {

using fixtures::GaneshaServer;

// Longer than any replay: the warm passes lie within the attribute timeout.
constexpr uint32_t kAttributeTimeoutS = 24 * 60 * 60;

class OwnServer final : public ReplayServer {
 public:
  OwnServer(std::unique_ptr<GaneshaServer> server, MountOptions options)
      : ReplayServer(std::move(options)), server_(std::move(server)) {}

  std::string description() const override { return server_->description(); }
  bool special_files() const override { return true; }

  std::string Prepare(const Tree& tree, const std::string& name) override {
    const std::string directory = server_->backing_directory() + "/" + name;
    if (mkdir(directory.c_str(), 0755) != 0) {
      return fmt::format("cannot make {}: {}", directory, std::strerror(errno));
    }
    const OwnedFd root(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (root.get() < 0) return fmt::format("cannot open {}: {}", directory, std::strerror(errno));
    return PrepareLocal(tree, root.get(), true);
  }

  std::string Remove(const std::string& name) override {
    std::error_code error;
    std::filesystem::remove_all(server_->backing_directory() + "/" + name, error);
    return error ? fmt::format("cannot remove the tree of {}: {}", name, error.message()) : "";
  }

  void InItsNetwork(const std::function<void()>& work) override {
    const GaneshaServer::NetworkScope scope(*server_);
    work();
  }

  std::string KillAndRestart() override {
    const std::lock_guard guard(mutex_);
    server_->Kill();
    return server_->Restart();
  }

 private:
  std::mutex mutex_;
  const std::unique_ptr<GaneshaServer> server_;
};

class GivenServer final : public ReplayServer {
 public:
  GivenServer(std::unique_ptr<Client> client, MountOptions options, std::string url)
      : ReplayServer(std::move(options)), client_(std::move(client)), url_(std::move(url)) {}

  std::string description() const override { return url_; }
  bool special_files() const override { return false; }

  std::string Prepare(const Tree& tree, const std::string& name) override {
    return PrepareThroughNfs(tree, *client_, name);
  }
  std::string Remove(const std::string& name) override { return RemoveThroughNfs(*client_, name); }
  void InItsNetwork(const std::function<void()>& work) override { work(); }
  std::string KillAndRestart() override { return "only a server of our own can be killed"; }

 private:
  const std::unique_ptr<Client> client_;
  const std::string url_;
};

}  // namespace

std::expected<std::unique_ptr<ReplayServer>, std::string> ReplayServer::StartOwn() {
  auto server = GaneshaServer::Start();
  if (!server) return std::unexpected(server.error());
  auto options = ParseMountUrl((*server)->Url());
  if (!options) return std::unexpected(options.error());
  return std::make_unique<OwnServer>(std::move(*server), std::move(*options));
}

std::expected<std::unique_ptr<ReplayServer>, std::string> ReplayServer::Use(
    const std::string& url) {
  auto options = ParseMountUrl(url);
  if (!options) return std::unexpected(options.error());
  auto client = Client::Mount(*options);
  if (!client) return std::unexpected(client.error().message);
  return std::make_unique<GivenServer>(std::move(*client), std::move(*options), url);
}

MountOptions ReplayServer::OptionsFor(const std::string& name) const {
  MountOptions options = options_;
  options.server.export_path += "/" + name;
  options.acregmin_s = options.acregmax_s = kAttributeTimeoutS;
  options.acdirmin_s = options.acdirmax_s = kAttributeTimeoutS;
  return options;
}

std::expected<std::unique_ptr<Client>, std::string> ReplayServer::Mount(const std::string& name,
                                                                        WalkMode mode,
                                                                        bool path_cache) {
  MountOptions options = OptionsFor(name);
  options.walk = mode;
  options.path_cache = path_cache;
  std::expected<std::unique_ptr<Client>, MountError> client;
  InItsNetwork([&] { client = Client::Mount(options); });
  if (!client) return std::unexpected(client.error().message);
  return std::move(*client);
}

std::string ReplayServer::LibnfsUrl(const std::string& name) const {
  const protocol::ServerAddress& server = options_.server;
  std::string url =
      fmt::format("nfs://{}{}/{}?version=3&uid=0&gid=0", server.host, server.export_path, name);
  if (server.nfs_port != 0) url += fmt::format("&nfsport={}", server.nfs_port);
  if (server.mount_port != 0) url += fmt::format("&mountport={}", server.mount_port);
  return url;
}

}  // namespace nfswalk::bench
