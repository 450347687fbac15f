#include "bench/inode_scale/export_turns.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/measure/file_tree.h"
#include "bench/measure/machine_share.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kFilesPerDirectory = 1000;

Outcome OutcomeOf(std::string_view what, const std::string& path, std::errc error) {
  if (error == kOk) return {};
  return std::unexpected(
      fmt::format("{} {}: {}", what, path, std::make_error_code(error).message()));
}

template <class T>
std::errc ErrorOf(const Result<T>& result) {
  return result ? kOk : result.error();
}

// The files of one thread, and what the workloads do to them.
class ThreadFiles {
 public:
  ThreadFiles(Client& client, size_t thread, uint64_t files)
      : client_(client), root_(fmt::format("t{}", thread)), files_(files) {}

  Outcome MakeDirectories() {
    Outcome made = MakeDirectory(root_);
    for (uint64_t first = 0; made && first < files_; first += kFilesPerDirectory) {
      made = MakeDirectory(Directory(first));
    }
    return made;
  }

  Outcome Run(Workload workload) {
    if (workload == Workload::kBulkstat) return Scan();
    Outcome ran;
    for (uint64_t i = 0; ran && i < files_ * VisitsOf(workload); ++i) {
      const std::string path = fmt::format("{}/f{}", Directory(i % files_), i % files_);
      ran = OutcomeOf(WorkloadName(workload), path, Visit(workload, path));
    }
    return ran;
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

  // Lists every directory, and looks at each entry once.
  Outcome Scan() {
    for (uint64_t first = 0; first < files_; first += kFilesPerDirectory) {
      const std::string directory = Directory(first);
      std::vector<std::string> names;
      const std::errc listed = client_.ReadDir(directory, who_, [&](const DirectoryEntry& entry) {
        names.emplace_back(entry.name);
        return true;
      });
      if (auto outcome = OutcomeOf("list", directory, listed); !outcome) return outcome;
      for (const std::string& name : names) {
        const std::string path = directory + "/" + name;
        const std::errc error = ErrorOf(client_.Stat(path, who_, {.dont_cache = true}));
        if (auto outcome = OutcomeOf("stat", path, error); !outcome) return outcome;
      }
    }
    return {};
  }

  Outcome MakeDirectory(const std::string& path) {
    return OutcomeOf("make directory", path, ErrorOf(client_.MakeDirectory(path, 0755, who_)));
  }
  std::string Directory(uint64_t file) const {
    return fmt::format("{}/d{}", root_, file / kFilesPerDirectory);
  }

  Client& client_;
  const std::string root_;
  const uint64_t files_;
  const Credential who_{0, 0};
};

// One bundle of policies with one number of threads, in a directory of the export.
class ExportRun {
 public:
  ExportRun(const Plan& plan, ServerExport& server, std::string directory,
            const icache::InodePolicy& policy, size_t threads)
      : plan_(plan),
        server_(server),
        directory_(std::move(directory)),
        policy_(policy),
        threads_(threads) {}

  Outcome Run(std::span<const Workload> workloads, const ReportTurn& report) {
    auto client = Mount(/*inodes_max=*/0);
    if (!client) return std::unexpected(std::move(client.error()));
    for (size_t thread = 0; thread < threads_; ++thread) {
      const Outcome made = ThreadFiles(**client, thread, plan_.files_per_thread).MakeDirectories();
      if (!made) return made;
    }
    for (const Workload workload : workloads) {
      if (Interrupted()) break;
      if (workload != Workload::kCreate && !files_exist_) {
        if (auto ran = Do(**client, Workload::kCreate); !ran) return std::unexpected(ran.error());
      }
      auto taken = TakeTurn(**client, workload);
      if (!taken) return std::unexpected(std::move(taken.error()));
      report(*taken);
    }
    return {};
  }

 private:
  std::expected<WorkloadTurn, std::string> TakeTurn(Client& client, Workload workload) {
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

  std::expected<WorkloadTurn, std::string> Do(Client& client, Workload workload) {
    if (workload == Workload::kCreate || workload == Workload::kUnlink) {
      files_exist_ = workload == Workload::kCreate;
    }
    const uint64_t global_before = client.stats().inode_global_locks;
    const MachineShare share(server_.server_pid());
    const auto time = RunTeam(threads_, Placement::kPinned, [&](size_t thread) {
      return ThreadFiles(client, thread, plan_.files_per_thread).Run(workload);
    });
    if (!time) return std::unexpected(time.error());
    return WorkloadTurn{.workload = workload,
                        .turn = {.ops = threads_ * plan_.files_per_thread * VisitsOf(workload),
                                 .seconds = time->seconds,
                                 .share = share.Share()},
                        .global_acquisitions = client.stats().inode_global_locks - global_before};
  }

  // `inodes_max`: 0 for as many as come.
  std::expected<std::unique_ptr<Client>, std::string> Mount(uint64_t inodes_max) {
    MountOptions options = server_.OptionsFor(directory_);
    options.inode_policy = policy_;
    if (inodes_max > 0) options.inodes_max = options.dentries_max = inodes_max;
    return server_.Mount(options);
  }

  const Plan& plan_;
  ServerExport& server_;
  const std::string directory_;
  const icache::InodePolicy policy_;
  const size_t threads_;
  bool files_exist_ = false;
};

}  // namespace

TakeTurns ExportTurns(const Plan& plan, ServerExport& server) {
  return [&plan, &server, number = 0](const icache::InodePolicy& policy, size_t threads,
                                      std::span<const Workload> workloads,
                                      const ReportTurn& report) mutable {
    // A new name each time: servers remember what became of old ones.
    const std::string directory = fmt::format("nfswalk-inode-scale-{}-{}", getpid(), ++number);
    return server.WithTree(EmptyTree(), directory, [&] {
      return ExportRun(plan, server, directory, policy, threads).Run(workloads, report);
    });
  };
}

}  // namespace nfswalk::bench
