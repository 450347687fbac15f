#include "bench/warm_stat/warm_run.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "bench/make_replay/kernel_subject.h"
#include "bench/make_replay/libnfs_subject.h"
#include "bench/make_replay/nfswalk_subject.h"
#include "bench/warm_stat/warm_tree.h"
#include "bench/warm_stat/warm_turn.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

using Rows = std::expected<std::vector<WarmRow>, std::string>;

struct Setting {
  std::string_view name;
  WalkMode mode;
  bool path_cache = true;
};
constexpr Setting kSettings[] = {{"ref", WalkMode::kRef},
                                 {"rcu-locked", WalkMode::kRcuLocked},
                                 {"rcu-peek", WalkMode::kRcuPeek},
                                 {"nopathcache", WalkMode::kRcuSearch, false},
                                 {"rcu-search", WalkMode::kRcuSearch}};
// Nobody but uid 0 owns anything, and everybody may search and look.
const std::vector<Credential> kFourIdentities = {{0, 0}, {1000, 1000}, {1001, 1001}, {1002, 1000}};
constexpr Course kCourseOfFour{Pattern::kDistinct, 8};

// There are ten thousand directories to learn before the clock starts.
constexpr uint64_t kRandomTurnFactor = 10;

struct Participant {
  std::unique_ptr<Subject> subject;
  size_t identities = 1;

  // Four identities take one course: the directories on the way are what they share.
  bool Takes(Course course) const { return identities == 1 || course == kCourseOfFour; }
};

class WarmRun {
 public:
  WarmRun(const WarmOptions& options, ReplayServer& server, const std::string& directory,
          const std::function<void(std::string_view)>& progress, const std::atomic<bool>& stop)
      : options_(options),
        server_(server),
        directory_(directory),
        progress_(progress),
        stop_(stop) {}

  Rows Run(const WarmTree& tree) {
    if (std::string error = Assemble(tree); !error.empty())
      return std::unexpected(std::move(error));
    for (const Course course : WarmTree::Courses()) {
      if (stop_.load()) break;
      if (std::string error = Take(tree, course); !error.empty()) {
        return std::unexpected(std::move(error));
      }
    }
    CompareWithOneThread(rows_);
    return std::move(rows_);
  }

 private:
  // Empty, or the error.
  std::string Assemble(const WarmTree& tree) {
    for (const auto& identities : {std::vector<Credential>{{0, 0}}, kFourIdentities}) {
      for (const auto& [name, mode, path_cache] : kSettings) {
        auto client = server_.Mount(directory_, mode, path_cache);
        if (!client) return client.error();
        participants_.push_back(
            {MakeNfswalkSubject(std::move(*client), name, identities), identities.size()});
      }
    }
    progress_("making the kernel's tree");
    auto kernel = MakeKernelSubject(tree.Build());
    if (kernel) participants_.push_back({std::move(*kernel)});
    if (!kernel) progress_(fmt::format("left out: kernel, tmpfs: {}\n", kernel.error()));
    participants_.push_back({MakeLibnfsSubject(server_.LibnfsUrl(directory_), server_)});
    return {};
  }

  // All who take part, in all numbers of threads, one after the other. Empty, or the error.
  std::string Take(const WarmTree& tree, Course course) {
    const CourseCalls calls = tree.CallsOf(course);
    const std::string name = fmt::format("{}, depth {}", NameOf(course.pattern), course.depth);
    for (const Participant& each : participants_) {
      if (!each.Takes(course) || each.subject->one_pass_only()) continue;
      progress_(fmt::format("{}: {} {}, first pass", name, each.subject->subject(),
                            each.subject->mode()));
      std::string error = AskEachOnce(*each.subject, calls.calls(), each.identities, stop_);
      if (!error.empty()) return error;
    }
    std::vector<std::pair<WarmKey, std::vector<WarmTurn>>> turns;
    for (size_t repetition = 0; repetition < options_.repetitions; ++repetition) {
      size_t row = 0;
      for (const size_t threads : options_.threads) {
        for (const Participant& each : participants_) {
          if (stop_.load()) return {};
          if (!each.Takes(course)) continue;
          if (repetition == 0) turns.push_back({KeyOf(each, course, threads), {}});
          progress_(fmt::format("{}: {} of {}: {} {}, {} threads", name, repetition + 1,
                                options_.repetitions, each.subject->subject(), each.subject->mode(),
                                threads));
          // Of many files, each repetition asks for others; all who take part for the same ones.
          const size_t start = calls.calls().size() * repetition / options_.repetitions;
          auto turn =
              TakeTurn(*each.subject, calls.calls(), start, threads, SecondsOfTurn(each, course));
          if (!turn) return std::move(turn.error());
          turns[row++].second.push_back(*turn);
        }
      }
    }
    const size_t processors = std::max(1u, std::thread::hardware_concurrency());
    for (const auto& [key, all] : turns) rows_.push_back(RowOf(key, all, processors));
    return {};
  }

  // Those that cannot repeat a call cheaply are slow enough as it is.
  double SecondsOfTurn(const Participant& who, Course course) const {
    const bool longer = course.pattern == Pattern::kRandom && !who.subject->one_pass_only();
    return static_cast<double>((longer ? kRandomTurnFactor : 1) * options_.turn_ms) / 1000;
  }

  static WarmKey KeyOf(const Participant& who, Course course, size_t threads) {
    return {.subject = std::string(who.subject->subject()),
            .mode = std::string(who.subject->mode()),
            .course = course,
            .threads = threads,
            .identities = who.identities};
  }

  const WarmOptions& options_;
  ReplayServer& server_;
  const std::string& directory_;
  const std::function<void(std::string_view)>& progress_;
  const std::atomic<bool>& stop_;
  std::vector<Participant> participants_;
  std::vector<WarmRow> rows_;
};

}  // namespace

Rows RunWarmStats(const WarmOptions& options, ReplayServer& server,
                  const std::function<void(std::string_view)>& progress,
                  const std::atomic<bool>& stop) {
  const WarmTree tree(options.random_files);
  const std::string directory = fmt::format("nfswalk-warm-stat-{}", getpid());
  progress("making the tree");
  Rows rows = {};
  if (std::string error = server.Prepare(tree.Build(), directory); !error.empty()) {
    rows = std::unexpected(std::move(error));
  } else {
    rows = WarmRun(options, server, directory, progress, stop).Run(tree);
  }
  progress("removing the tree");
  std::string removal = server.Remove(directory);
  if (rows && !removal.empty()) return std::unexpected(std::move(removal));
  return rows;
}

}  // namespace nfswalk::bench
