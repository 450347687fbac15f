#include "bench/cold_walk/nfswalk_walk.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/cold_walk/work_crew.h"
#include "fmt/format.h"
#include "nfsclient/client.h"
#include "nfsclient/protocol/nfs3.h"
#include "nfsclient/protocol/nfs4.h"

namespace nfswalk::bench {
namespace {

constexpr std::errc kOk{};
const Credential kRoot(0, 0);

std::string Failed(std::string_view what, std::string_view path, std::errc error) {
  return fmt::format("{} {}: {}", what, path, std::make_error_code(error).message());
}

// Directories that wait to be listed, for all threads of a find.
class FindQueue {
 public:
  void Push(std::string directory) {
    const std::lock_guard guard(mutex_);
    directories_.push_back(std::move(directory));
    changed_.notify_one();
  }
  // Blocks until there is one. Empty once none can come any more. Done() follows each.
  std::optional<std::string> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !directories_.empty() || busy_ == 0; });
    if (directories_.empty()) return std::nullopt;
    std::string directory = std::move(directories_.back());
    directories_.pop_back();
    ++busy_;
    return directory;
  }
  void Done() {
    const std::lock_guard guard(mutex_);
    if (--busy_ == 0) changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> directories_ = {"/"};
  size_t busy_ = 0;
};

// The walk of one turn.
class Walker {
 public:
  Walker(Client& client, const ColdTree& tree, const NfswalkSetting& setting,
         const std::atomic<bool>& stop)
      : client_(client), tree_(tree), setting_(setting), stop_(stop) {}

  // Empty, or what went wrong.
  std::string Run(size_t thread) {
    switch (setting_.mode) {
      case ColdMode::kPath:
        return StatShare(thread);
      case ColdMode::kFind:
        return Find();
      case ColdMode::kDeep:
        return Stat(ColdTree::kDeepFile);
    }
    return {};
  }
  uint64_t files() const { return files_.load(); }
  uint64_t files_expected() const {
    const uint64_t files = tree_.paths().size();
    return setting_.mode == ColdMode::kPath   ? files
           : setting_.mode == ColdMode::kFind ? files + 1
                                              : 1;
  }

 private:
  std::string Stat(const std::string& path) {
    const auto found = client_.Stat(path, kRoot);
    if (!found) return Failed("stat", path, found.error());
    if (found->type != protocol::FileType::kRegular) return path + " is no regular file";
    files_.fetch_add(1);
    return {};
  }

  std::string StatShare(size_t thread) {
    const std::vector<std::string>& paths = tree_.paths();
    for (size_t i = thread; i < paths.size() && !stop_.load(); i += setting_.threads) {
      if (std::string error = Stat(paths[i]); !error.empty()) return error;
    }
    return {};
  }

  std::string Find() {
    std::string error;
    while (auto directory = queue_.Take()) {
      if (error.empty() && !stop_.load()) error = List(*directory);
      queue_.Done();
    }
    return error;
  }

  std::string List(const std::string& directory) {
    std::string error;
    const std::errc listed = client_.ReadDir(directory, kRoot, [&](const DirectoryEntry& entry) {
      std::string path = directory + (directory.ends_with('/') ? "" : "/") + entry.name;
      if (!entry.attributes) {
        error = "the server lists " + path + " without attributes";
      } else if (entry.attributes->type == protocol::FileType::kDirectory) {
        queue_.Push(std::move(path));
      } else {
        files_.fetch_add(1);
      }
      return error.empty();
    });
    return listed == kOk ? error : Failed("list", directory, listed);
  }

  Client& client_;
  const ColdTree& tree_;
  const NfswalkSetting setting_;
  const std::atomic<bool>& stop_;
  FindQueue queue_;
  std::atomic<uint64_t> files_{0};
};

MountOptions OptionsOf(const ColdPlace& place, const NfswalkSetting& setting) {
  MountOptions options = place.server.OptionsFor(place.directory);
  options.server.version = setting.version;
  options.compound = setting.compound;
  options.rdirplus = setting.list_ahead;
  return options;
}

std::expected<ColdTurn, std::string> WalkOnce(Client& client, const ColdPlace& place,
                                              const NfswalkSetting& setting,
                                              const std::atomic<bool>& stop) {
  Walker walker(client, place.tree, setting, stop);
  const uint64_t before = client.stats().rpcs;
  const auto seconds = RunCrew(setting.threads, [&](size_t thread) { return walker.Run(thread); });
  if (!seconds) return std::unexpected(seconds.error());
  const ColdTurn turn{
      .files = walker.files(), .rpcs = client.stats().rpcs - before, .seconds = *seconds};
  if (turn.files != walker.files_expected() && !stop.load()) {
    return std::unexpected(
        fmt::format("{} of {} files were found", turn.files, walker.files_expected()));
  }
  return turn;
}

class NfswalkSubject final : public ColdSubject {
 public:
  NfswalkSubject(const ColdPlace& place, const NfswalkSetting& setting)
      : place_(place),
        setting_(setting),
        key_{SubjectOf(setting, "nfswalk"), setting.version, setting.mode, setting.threads} {}

  const ColdKey& key() const override { return key_; }
  std::expected<ColdTurn, std::string> Run(const std::atomic<bool>& stop) override {
    const MountOptions options = OptionsOf(place_, setting_);
    std::expected<std::unique_ptr<Client>, MountError> client;
    place_.server.InItsNetwork([&] { client = Client::Mount(options); });
    if (!client) return std::unexpected(client.error().message);
    return WalkOnce(**client, place_, setting_, stop);
  }

 private:
  const ColdPlace place_;
  const NfswalkSetting setting_;
  const ColdKey key_;
};

}  // namespace

std::string SubjectOf(const NfswalkSetting& setting, std::string_view who) {
  return fmt::format("{}{}{}", who, setting.compound ? "" : " nocompound",
                     setting.list_ahead ? "" : " nordirplus");
}

std::unique_ptr<ColdSubject> MakeNfswalkSubject(const ColdPlace& place,
                                                const NfswalkSetting& setting) {
  return std::make_unique<NfswalkSubject>(place, setting);
}

std::expected<Record, std::string> RecordWalk(const ColdPlace& place, NfswalkSetting setting,
                                              const std::atomic<bool>& stop) {
  setting.threads = 1;
  const MountOptions options = OptionsOf(place, setting);
  std::expected<std::unique_ptr<protocol::Protocol>, protocol::ConnectError> connected;
  place.server.InItsNetwork([&] {
    connected = setting.version == 3
                    ? protocol::Nfs3::ConnectNfs3(options.server, options.transport)
                    : protocol::Nfs4::ConnectNfs4(options.server, options.transport);
  });
  if (!connected) return std::unexpected(connected.error().message);
  Record record;
  auto client = Client::MountOver(
      std::make_unique<RecordingProtocol>(std::move(*connected), record), options);
  if (!client) return std::unexpected(client.error().message);
  if (auto walked = WalkOnce(**client, place, setting, stop); !walked) {
    return std::unexpected(std::move(walked.error()));
  }
  return record;
}

}  // namespace nfswalk::bench
