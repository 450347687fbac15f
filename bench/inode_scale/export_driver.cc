#include "bench/inode_scale/export_driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/make_replay/tree.h"
#include "fmt/format.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

namespace {

using Failure = std::expected<void, std::string>;

constexpr uint64_t kFilesPerDirectory = 1000;
constexpr std::errc kOk{};

// The files of one thread, and what the workloads do to them.
class ThreadFiles {
 public:
  ThreadFiles(Client& client, size_t thread, uint64_t files)
      : client_(client), root_(fmt::format("t{}", thread)), files_(files) {}

  std::string MakeDirectories() {
    if (auto made = client_.MakeDirectory(root_, 0755, who_); !made) {
      return Failed("make directory", root_, made.error());
    }
    for (uint64_t first = 0; first < files_; first += kFilesPerDirectory) {
      const std::string directory = Directory(first);
      if (auto made = client_.MakeDirectory(directory, 0755, who_); !made) {
        return Failed("make directory", directory, made.error());
      }
    }
    return {};
  }

  // Empty, or what failed.
  std::string Run(Workload workload) {
    if (workload == Workload::kBulkstat) return Scan();
    for (uint64_t i = 0; i < files_ * VisitsOf(workload); ++i) {
      const std::string path = Path(i % files_);
      const std::errc error = Visit(workload, path);
      if (error != kOk) return Failed(std::string(WorkloadName(workload)), path, error);
    }
    return {};
  }

 private:
  std::errc Visit(Workload workload, const std::string& path) {
    switch (workload) {
      case Workload::kCreate:
        return ErrorOf(client_.Create(path, 0644, /*exclusive=*/false, who_));
      case Workload::kChmod:
        return ErrorOf(client_.SetAttributesOf(path, {.mode = 0600}, who_));
      case Workload::kUnlink:
        return client_.Unlink(path, who_);
      default:
        return ErrorOf(client_.Stat(path, who_));
    }
  }

  // Every directory is listed, and each entry looked at for once.
  std::string Scan() {
    for (uint64_t first = 0; first < files_; first += kFilesPerDirectory) {
      const std::string directory = Directory(first);
      std::vector<std::string> names;
      const std::errc listed = client_.ReadDir(directory, who_, [&](const DirectoryEntry& entry) {
        names.emplace_back(entry.name);
        return true;
      });
      if (listed != kOk) return Failed("list", directory, listed);
      for (const std::string& name : names) {
        const std::string path = directory + "/" + name;
        const std::errc error = ErrorOf(client_.Stat(path, who_, {.dont_cache = true}));
        if (error != kOk) return Failed("stat", path, error);
      }
    }
    return {};
  }

  template <class T>
  static std::errc ErrorOf(const Result<T>& result) {
    return result ? kOk : result.error();
  }
  static std::string Failed(std::string_view what, const std::string& path, std::errc error) {
    return fmt::format("{} {}: {}", what, path, std::make_error_code(error).message());
  }
  std::string Directory(uint64_t file) const {
    return fmt::format("{}/d{}", root_, file / kFilesPerDirectory);
  }
  std::string Path(uint64_t file) const { return fmt::format("{}/f{}", Directory(file), file); }

  Client& client_;
  const std::string root_;
  const uint64_t files_;
  const Credential who_{0, 0};
};

// All workloads of one bundle with one number of threads, in a directory of the export.
class ExportRound {
 public:
  ExportRound(const Plan& plan, ReplayServer& server, std::string directory,
              const icache::InodePolicy& policy, size_t threads)
      : plan_(plan),
        server_(server),
        directory_(std::move(directory)),
        policy_(policy),
        threads_(threads) {}

  Failure Run(const std::function<void(const Timing&)>& report, const std::atomic<bool>& stop) {
    if (const std::string error = server_.Prepare(Tree(), directory_); !error.empty()) {
      return std::unexpected(error);
    }
    Failure ran = RunWorkloads(report, stop);
    const std::string removed = server_.Remove(directory_);
    if (ran && !removed.empty()) return std::unexpected(removed);
    return ran;
  }

 private:
  Failure RunWorkloads(const std::function<void(const Timing&)>& report,
                       const std::atomic<bool>& stop) {
    auto client = Mount(/*inodes_max=*/0);
    if (!client) return std::unexpected(std::move(client.error()));
    const Failure directories =
        ForAll(**client, [](ThreadFiles& files) { return files.MakeDirectories(); });
    if (!directories) return directories;
    for (const Workload workload : plan_.workloads) {
      if (stop) break;
      if (workload != Workload::kCreate && !files_exist_) {
        if (auto created = Do(**client, Workload::kCreate); !created) {
          return std::unexpected(std::move(created.error()));
        }
      }
      if (auto timed = TimeOne(**client, workload); timed) {
        report(*timed);
      } else {
        return std::unexpected(std::move(timed.error()));
      }
    }
    return {};
  }

  std::expected<Timing, std::string> TimeOne(Client& client, Workload workload) {
    if (workload == Workload::kFstree) {
      // In a mount for a quarter of the files, which is full from the start.
      auto small = Mount(std::max<uint64_t>(threads_ * plan_.files_per_thread / 4, 1));
      if (!small) return std::unexpected(std::move(small.error()));
      if (auto filled = Do(**small, workload); !filled) return filled;
      return Do(**small, workload);
    }
    client.DropCaches();
    if (workload == Workload::kWarm) {
      if (auto warmed = Do(client, Workload::kWalk); !warmed) return warmed;
    }
    return Do(client, workload);
  }

  std::expected<Timing, std::string> Do(Client& client, Workload workload) {
    if (workload == Workload::kCreate || workload == Workload::kUnlink) {
      files_exist_ = workload == Workload::kCreate;
    }
    const uint64_t global_before = client.stats().inode_global_locks;
    std::mutex mutex;
    std::string failure;
    const TeamTime time = RunTeam(threads_, [&](size_t thread) {
      std::string error = ThreadFiles(client, thread, plan_.files_per_thread).Run(workload);
      if (error.empty()) return;
      const std::lock_guard guard(mutex);
      failure = std::move(error);
    });
    if (!failure.empty()) return std::unexpected(std::move(failure));
    return Timing{.workload = workload,
                  .policy = policy_,
                  .threads = threads_,
                  .time = time,
                  .inodes = threads_ * plan_.files_per_thread * VisitsOf(workload),
                  .global_acquisitions = client.stats().inode_global_locks - global_before};
  }

  template <class Act>
  Failure ForAll(Client& client, Act&& act) {
    for (size_t thread = 0; thread < threads_; ++thread) {
      ThreadFiles files(client, thread, plan_.files_per_thread);
      if (std::string error = act(files); !error.empty()) return std::unexpected(std::move(error));
    }
    return {};
  }

  // `inodes_max`: 0 for as many as come.
  std::expected<std::unique_ptr<Client>, std::string> Mount(uint64_t inodes_max) {
    MountOptions options = server_.OptionsFor(directory_);
    options.inode_policy = policy_;
    if (inodes_max > 0) options.inodes_max = options.dentries_max = inodes_max;
    std::expected<std::unique_ptr<Client>, MountError> client;
    server_.InItsNetwork([&] { client = Client::Mount(options); });
    if (!client) return std::unexpected(client.error().message);
    return std::move(*client);
  }

  const Plan& plan_;
  ReplayServer& server_;
  const std::string directory_;
  const icache::InodePolicy policy_;
  const size_t threads_;
  bool files_exist_ = false;
};

}  // namespace

Failure RunPlanOnExport(const Plan& plan, ReplayServer& server,
                        const std::function<void(const Timing&)>& report,
                        const std::atomic<bool>& stop) {
  size_t round = 0;
  for (size_t repetition = 0; repetition < plan.repetitions; ++repetition) {
    for (const size_t threads : plan.threads) {
      for (const icache::InodePolicy& policy : plan.policies) {
        if (stop) return {};
        // A new name each time: servers remember what became of old ones.
        std::string directory = fmt::format("nfswalk-inode-scale-{}-{}", getpid(), ++round);
        ExportRound export_round(plan, server, std::move(directory), policy, threads);
        if (auto ran = export_round.Run(report, stop); !ran) return ran;
      }
    }
  }
  return {};
}

}  // namespace nfswalk::bench
