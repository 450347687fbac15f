#include "bench/measure/server_export.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "bench/measure/owned_fd.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"
#include "tests/fixtures/nfs_server.h"

namespace nfswalk::bench {
namespace {

using fixtures::NfsServer;

// Longer than any run: warm turns lie within the attribute timeout.
constexpr uint32_t kAttributeTimeoutS = 24 * 60 * 60;

// Trees of 100,000 files of sources, and their copies.
constexpr uint64_t kTmpfsBytes = uint64_t{8} << 30;

class OwnServer final : public ServerExport {
 public:
  OwnServer(std::unique_ptr<NfsServer> server, MountOptions options)
      : ServerExport(std::move(options)), server_(std::move(server)) {}

  std::string description() const override { return server_->properties().description; }
  pid_t server_pid() const override { return server_->server_pid(); }
  std::string backing_directory() const override { return server_->backing_directory(); }
  bool special_files() const override { return true; }

  Outcome Make(const FileTree& tree, const std::string& name) override {
    const std::string directory = server_->backing_directory() + "/" + name;
    if (mkdir(directory.c_str(), 0755) != 0) return Failed("make", directory);
    const OwnedFd root(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (root.get() < 0) return Failed("open", directory);
    return MakeLocally(tree, root.get());
  }

  Outcome Remove(const std::string& name) override {
    std::error_code error;
    std::filesystem::remove_all(server_->backing_directory() + "/" + name, error);
    if (!error) return {};
    return std::unexpected(fmt::format("cannot remove the tree {}: {}", name, error.message()));
  }

  void InItsNetwork(const std::function<void()>& work) override {
    const NfsServer::NetworkScope scope(*server_);
    work();
  }

  Outcome KillAndRestart() override {
    const std::lock_guard guard(mutex_);
    server_->Kill();
    std::string error = server_->Restart();
    if (error.empty()) return {};
    return std::unexpected(std::move(error));
  }

 private:
  static std::unexpected<std::string> Failed(std::string_view what, std::string_view directory) {
    return std::unexpected(fmt::format("cannot {} {}: {}", what, directory, std::strerror(errno)));
  }

  std::mutex mutex_;
  const std::unique_ptr<NfsServer> server_;
};

class GivenServer final : public ServerExport {
 public:
  GivenServer(std::unique_ptr<Client> client, MountOptions options, std::string url)
      : ServerExport(std::move(options)), client_(std::move(client)), url_(std::move(url)) {}

  std::string description() const override { return url_; }
  pid_t server_pid() const override { return 0; }
  std::string backing_directory() const override { return {}; }
  bool special_files() const override { return false; }

  Outcome Make(const FileTree& tree, const std::string& name) override {
    return MakeThroughNfs(tree, *client_, name);
  }
  Outcome Remove(const std::string& name) override { return RemoveThroughNfs(*client_, name); }
  void InItsNetwork(const std::function<void()>& work) override { work(); }
  Outcome KillAndRestart() override {
    return std::unexpected("only a server of our own can be killed");
  }

 private:
  const std::unique_ptr<Client> client_;
  const std::string url_;
};

}  // namespace

std::expected<std::unique_ptr<ServerExport>, std::string> ServerExport::Open(
    const std::string& url) {
  std::unique_ptr<NfsServer> own;
  if (url.empty()) {
    auto started = NfsServer::Start({.tmpfs_bytes = kTmpfsBytes});
    if (!started) return std::unexpected(std::move(started.error()));
    own = std::move(*started);
  }
  auto options = ParseMountUrl(own != nullptr ? own->Url() : url);
  if (!options) return std::unexpected(std::move(options.error()));
  if (own != nullptr) return std::make_unique<OwnServer>(std::move(own), std::move(*options));
  auto client = Client::Mount(*options);
  if (!client) return std::unexpected(std::move(client.error().message));
  return std::make_unique<GivenServer>(std::move(*client), std::move(*options), url);
}

Outcome ServerExport::WithTree(const FileTree& tree, const std::string& name,
                               const std::function<Outcome()>& work) {
  Outcome outcome = Make(tree, name);
  if (outcome && !Interrupted()) outcome = work();
  Outcome removed = Remove(name);
  return outcome ? removed : outcome;
}

MountOptions ServerExport::OptionsFor(const std::string& name) const {
  MountOptions options = options_;
  options.server.export_path += "/" + name;
  options.acregmin_s = options.acregmax_s = kAttributeTimeoutS;
  options.acdirmin_s = options.acdirmax_s = kAttributeTimeoutS;
  return options;
}

std::expected<std::unique_ptr<Client>, std::string> ServerExport::Mount(
    const MountOptions& options) {
  std::expected<std::unique_ptr<Client>, MountError> client;
  InItsNetwork([&] { client = Client::Mount(options); });
  if (!client) return std::unexpected(std::move(client.error().message));
  return std::move(*client);
}

std::string ServerExport::UrlOf(const std::string& name, int version, uint16_t nfs_port) const {
  const protocol::ServerAddress& server = options_.server;
  std::string url = fmt::format("nfs://{}{}/{}?version={}", server.host, server.export_path, name,
                                version == 3 ? "3" : "4.0");
  if (nfs_port == 0) nfs_port = server.nfs_port;
  if (nfs_port != 0) url += fmt::format("&nfsport={}", nfs_port);
  if (version == 3 && server.mount_port != 0) {
    url += fmt::format("&mountport={}", server.mount_port);
  }
  return url;
}

}  // namespace nfswalk::bench
