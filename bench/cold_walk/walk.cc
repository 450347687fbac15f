#include "bench/cold_walk/walk.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bench/measure/machine_share.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

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

// A line of its own: its neighbours are other processors'.
struct alignas(64) Count {
  uint64_t files = 0;
  std::vector<double> stats_s = {};  // kLarge: what each took
};

Outcome StatShare(WalkCalls& calls, const std::vector<std::string>& paths, size_t first,
                  size_t stride, Count& count) {
  for (size_t i = first; i < paths.size() && !Interrupted(); i += stride) {
    if (Outcome found = calls.Stat(paths[i]); !found) return found;
    ++count.files;
  }
  return {};
}

Outcome StatLarge(WalkCalls& calls, std::span<const std::string> paths, size_t first, size_t stride,
                  Count& count) {
  using Clock = std::chrono::steady_clock;
  count.stats_s.reserve(paths.size());
  for (size_t i = first; i < paths.size() && !Interrupted(); i += stride) {
    const Clock::time_point started = Clock::now();
    if (Outcome found = calls.Stat(paths[i]); !found) return found;
    count.stats_s.push_back(std::chrono::duration<double>(Clock::now() - started).count());
  }
  count.files = count.stats_s.size();
  return {};
}

Outcome Find(WalkCalls& calls, FindQueue& queue, Count& count) {
  Outcome outcome;
  while (auto directory = queue.Take()) {
    const std::string prefix = *directory == "/" ? "/" : *directory + "/";
    if (outcome && !Interrupted()) {
      outcome = calls.List(*directory, [&](std::string_view name, bool is_directory) {
        if (is_directory) queue.Push(prefix + std::string(name));
        if (!is_directory) ++count.files;
      });
    }
    queue.Done();
  }
  return outcome;
}

}  // namespace

uint64_t FilesOf(WalkKind kind, const ColdTree& tree, uint64_t one_in) {
  const uint64_t files = tree.paths().size();
  switch (kind) {
    case WalkKind::kPath:
    case WalkKind::kExpired:
    case WalkKind::kBatch:
      return (files + one_in - 1) / one_in;
    case WalkKind::kFind:
      return files + 1;
    case WalkKind::kDeep:
      return 1;
    case WalkKind::kLarge:
      return (tree.large().size() + kLargeOneIn - 1) / kLargeOneIn;
    case WalkKind::kChanges:
      return (files + ColdTree::kFilesPerDirectory - 1) / ColdTree::kFilesPerDirectory;
  }
  return 0;
}

void AddLongest(Turn& turn, std::vector<double> took_s) {
  turn.longest_s = std::max(turn.longest_s, std::ranges::max(took_s));
  const auto rank = took_s.end() - 1 - static_cast<ptrdiff_t>(took_s.size() / 1000);
  std::ranges::nth_element(took_s, rank);
  turn.p999_s = std::max(turn.p999_s, *rank);
}

std::expected<Turn, std::string> Walk(WalkKind kind, const ColdTree& tree, uint64_t one_in,
                                      std::span<const std::unique_ptr<WalkCalls>> calls,
                                      pid_t server) {
  std::vector<Count> counts(calls.size());
  FindQueue queue;
  const MachineShare machine(server);
  const auto time = RunTeam(calls.size(), Placement::kAnywhere, [&](size_t thread) -> Outcome {
    WalkCalls& mine = *calls[thread];
    switch (kind) {
      case WalkKind::kPath:
      case WalkKind::kExpired:
        return StatShare(mine, tree.paths(), thread * one_in, calls.size() * one_in,
                         counts[thread]);
      case WalkKind::kFind:
        return Find(mine, queue, counts[thread]);
      case WalkKind::kDeep:
        counts[thread].files = 1;
        return mine.Stat(ColdTree::kDeepFile);
      case WalkKind::kLarge:
        return StatLarge(mine, {tree.large().data(), FilesOf(kind, tree, one_in)}, thread,
                         calls.size(), counts[thread]);
      case WalkKind::kBatch:
      case WalkKind::kChanges:
        std::unreachable();
    }
    return {};
  });
  if (!time) return std::unexpected(time.error());
  Turn turn{.seconds = time->seconds};
  machine.AddTo(turn);
  for (Count& count : counts) {
    turn.ops += count.files;
    if (!count.stats_s.empty()) AddLongest(turn, std::move(count.stats_s));
  }
  const uint64_t expected = FilesOf(kind, tree, one_in);
  if (turn.ops == expected || Interrupted()) return turn;
  return std::unexpected(fmt::format("{} of {} files were found", turn.ops, expected));
}

}  // namespace nfswalk::bench
