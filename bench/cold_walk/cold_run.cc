#include "bench/cold_walk/cold_run.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "bench/cold_walk/cold_tree.h"
#include "bench/cold_walk/libnfs_stat.h"
#include "bench/cold_walk/nfswalk_walk.h"
#include "bench/cold_walk/raw_calls.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

using Subjects = std::vector<std::unique_ptr<ColdSubject>>;
using Rows = std::expected<std::vector<ColdRow>, std::string>;

// Our client in all its settings: version 3 has no COMPOUND to switch off, and a listing is not
// listed ahead.
std::vector<NfswalkSetting> SettingsOf(ColdMode mode) {
  std::vector<NfswalkSetting> settings = {{.version = 3, .mode = mode},
                                          {.version = 4, .mode = mode},
                                          {.version = 4, .compound = false, .mode = mode}};
  if (mode == ColdMode::kPath) {
    settings.push_back({.version = 3, .list_ahead = false, .mode = mode});
    settings.push_back({.version = 4, .list_ahead = false, .mode = mode});
  }
  return settings;
}

constexpr int kVersions[] = {3, 4};

class ColdRun {
 public:
  ColdRun(const ColdOptions& options, const ColdPlace& place,
          const std::function<void(std::string_view)>& progress, const std::atomic<bool>& stop)
      : options_(options), place_(place), progress_(progress), stop_(stop) {}

  Rows Run() {
    if (std::string error = Assemble(); !error.empty()) return std::unexpected(std::move(error));
    std::vector<std::vector<ColdTurn>> turns(subjects_.size());
    for (size_t repetition = 0; repetition < options_.repetitions; ++repetition) {
      for (size_t i = 0; i < subjects_.size() && !stop_.load(); ++i) {
        const ColdKey& key = subjects_[i]->key();
        progress_(fmt::format("{} of {}: {}, v{} {}, {} threads", repetition + 1,
                              options_.repetitions, key.subject, key.version, NameOf(key.mode),
                              key.threads));
        auto turn = subjects_[i]->Run(stop_);
        if (!turn) return std::unexpected(key.subject + ": " + turn.error());
        if (!stop_.load()) turns[i].push_back(*turn);  // else it was cut short
      }
    }
    std::vector<ColdRow> rows;
    for (size_t i = 0; i < subjects_.size(); ++i) {
      if (!turns[i].empty()) rows.push_back(RowOf(subjects_[i]->key(), std::move(turns[i])));
    }
    CompareWithCeilings(rows);
    return rows;
  }

 private:
  // Empty, or the error. The walks that are recorded for the ceilings warm the server up.
  std::string Assemble() {
    const uint64_t files = place_.tree.paths().size();
    for (const ColdMode mode : {ColdMode::kPath, ColdMode::kFind}) {
      for (NfswalkSetting setting : SettingsOf(mode)) {
        progress_(fmt::format("the calls of {}, v{} {}", SubjectOf(setting, "nfswalk"),
                              setting.version, NameOf(mode)));
        auto record = RecordWalk(place_, setting, stop_);
        if (!record) return std::move(record.error());
        for (const size_t threads : options_.threads) {
          setting.threads = threads;
          subjects_.push_back(MakeNfswalkSubject(place_, setting));
        }
        const uint64_t found = mode == ColdMode::kFind ? files + 1 : files;
        subjects_.push_back(MakeRawSubject(place_, setting, std::move(*record), found));
      }
      for (const int version : kVersions) {
        if (mode != ColdMode::kPath) break;
        for (const size_t threads : options_.threads) {
          subjects_.push_back(MakeLibnfsSubject(place_, version, threads, options_.libnfs_one_in));
        }
      }
    }
    for (const NfswalkSetting& setting : SettingsOf(ColdMode::kDeep)) {
      subjects_.push_back(MakeNfswalkSubject(place_, setting));
    }
    return {};
  }

  const ColdOptions& options_;
  const ColdPlace place_;
  const std::function<void(std::string_view)>& progress_;
  const std::atomic<bool>& stop_;
  Subjects subjects_;
};

}  // namespace

Rows RunColdWalks(const ColdOptions& options, ReplayServer& server,
                  const std::function<void(std::string_view)>& progress,
                  const std::atomic<bool>& stop) {
  const ColdTree tree(options.files);
  const ColdPlace place{server, tree, fmt::format("nfswalk-cold-walk-{}", getpid())};
  progress("making the tree");
  Rows rows = {};
  if (std::string error = server.Prepare(tree.Build(), place.directory); !error.empty()) {
    rows = std::unexpected(std::move(error));
  } else {
    rows = ColdRun(options, place, progress, stop).Run();
  }
  progress("removing the tree");
  std::string removal = server.Remove(place.directory);
  if (rows && !removal.empty()) return std::unexpected(std::move(removal));
  return rows;
}

}  // namespace nfswalk::bench
