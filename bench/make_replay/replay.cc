#include "bench/make_replay/replay.h"

#include <linux/limits.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kSampleEvery = 64;
constexpr size_t kMismatchesKept = 10;
constexpr size_t kLatenciesKept = size_t{1} << 18;
// Warm-up before the clock of a turn starts, as a part of the turn's time.
constexpr double kWarmUp = 0.25;

uint32_t NanosecondsSince(Clock::time_point start) {
  return static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// Returns the time that reading the clock twice takes, to be subtracted from each sample.
uint32_t ClockCostNs() {
  uint32_t least = UINT32_MAX;
  for (int i = 0; i < 1000; ++i) least = std::min(least, NanosecondsSince(Clock::now()));
  return least;
}

std::string AnswerText(const Call& call, const Answer& answer, std::string_view link_text) {
  if (answer.error != 0) return std::strerror(answer.error);
  if (call.kind == CallKind::kReadLink) return fmt::format("\"{}\"", link_text);
  if (call.kind != CallKind::kStat) return "success";
  return fmt::format(
      "mode {:o}, size {}", answer.mode,
      answer.size_bytes == kSizeNotCompared ? "any" : std::to_string(answer.size_bytes));
}

// Plays the calls of one thread. Only that thread accesses its counters until it has ended.
class alignas(64) Player {
 public:
  Outcome Start(Subject& subject) {
    auto thread = subject.StartThread();
    if (!thread) return std::unexpected(std::move(thread.error()));
    thread_ = std::move(*thread);
    clock_cost_ns_ = ClockCostNs();
    result_.latencies_ns.reserve(kLatenciesKept);
    return {};
  }

  void Play(const Call& call) {
    ++result_.turn.ops;
    const Answer answer = thread_->Ask(call, link_text_);
    if (!Matches(call, answer, link_text_.data())) [[unlikely]]
      result_.Miss(DifferenceOf(call, answer, link_text_.data()));
  }

  void PlayTimed(const Call& call) {
    const Clock::time_point start = Clock::now();
    Play(call);
    const uint32_t elapsed = NanosecondsSince(start);
    if (result_.latencies_ns.size() == kLatenciesKept) return;
    result_.latencies_ns.push_back(elapsed - std::min(elapsed, clock_cost_ns_));
  }

  // Takes lots, round and round, until `seconds` are over and `lots_min` lots were taken by all.
  void PlayFor(const ReplayPlan& plan, std::atomic<size_t>& next_lot, size_t lots_min,
               double seconds) {
    const size_t last_lot = next_lot.load() + lots_min;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    result_.compared = std::exchange(result_.turn.ops, 0);
    result_.latencies_ns.clear();
    for (;;) {
      const Lot& lot = plan.lots[next_lot.fetch_add(1) % plan.lots.size()];
      for (size_t i = lot.begin; i < lot.end; ++i) {
        if (result_.turn.ops % kSampleEvery != 0) {
          Play(plan.calls[i]);
          continue;
        }
        PlayTimed(plan.calls[i]);
        if ((Clock::now() >= end && next_lot.load() > last_lot) || Interrupted()) return;
      }
    }
  }

  PassResult& result() { return result_; }

 private:
  std::unique_ptr<SubjectThread> thread_;
  uint32_t clock_cost_ns_ = 0;
  PassResult result_;
  std::array<char, PATH_MAX> link_text_{};
};

PassResult Merged(std::vector<Player>& players, const TeamTime& time) {
  PassResult total{.turn = {.seconds = time.seconds, .share = time.share}};
  for (Player& player : players) total.Add(player.result());
  return total;
}

}  // namespace

void PassResult::Miss(std::string sentence) {
  ++mismatches;
  if (first_mismatches.size() < kMismatchesKept) first_mismatches.push_back(std::move(sentence));
}

void PassResult::Add(PassResult& other) {
  turn.ops += other.turn.ops;
  compared += other.compared + other.turn.ops;
  mismatches += other.mismatches;
  latencies_ns.insert(latencies_ns.end(), other.latencies_ns.begin(), other.latencies_ns.end());
  std::ranges::move(other.first_mismatches, std::back_inserter(first_mismatches));
}

std::string DifferenceOf(const Call& call, const Answer& answer, const char* link_text) {
  const Answer recorded{.error = call.error, .mode = call.mode, .size_bytes = call.size_bytes};
  const size_t link_bytes = std::min<size_t>(answer.size_bytes, PATH_MAX);
  return fmt::format("line {}: {} {}: recorded {}, got {}", call.trace_line, KindName(call.kind),
                     call.path, AnswerText(call, recorded, call.link_text),
                     AnswerText(call, answer, {link_text, link_bytes}));
}

std::expected<PassResult, std::string> ReplayOnce(
    Subject& subject, const ReplayPlan& plan, size_t threads, size_t one_in,
    const std::function<void(uint64_t number)>& before_call) {
  std::vector<Player> players(threads);
  std::atomic<uint64_t> calls = 0;
  std::atomic<size_t> next_lot = 0;
  std::atomic<size_t> next_listing = 0;
  const auto time = RunTeam(
      threads, Placement::kAnywhere,
      [&](size_t thread) -> Outcome {
        for (size_t lot; (lot = next_lot.fetch_add(1)) < plan.lots.size();) {
          for (size_t i = plan.lots[lot].begin; i < plan.lots[lot].end; ++i) {
            if (Interrupted()) return {};
            if (i % one_in != 0) continue;
            if (before_call) before_call(calls.fetch_add(1) + 1);
            players[thread].PlayTimed(plan.calls[i]);
          }
        }
        for (size_t i; (i = next_listing.fetch_add(1)) < plan.listings.size();) {
          if (Interrupted()) return {};
          players[thread].Play(plan.listings[i]);
        }
        return {};
      },
      [&](size_t thread) { return players[thread].Start(subject); });
  if (!time) return std::unexpected(time.error());
  return Merged(players, *time);
}

std::expected<PassResult, std::string> ReplayFor(Subject& subject, const ReplayPlan& plan,
                                                 size_t threads, double seconds) {
  std::vector<Player> players(threads);
  std::atomic<size_t> next_lot = 0;
  const auto time = RunTeam(
      threads, Placement::kPinned,
      [&](size_t thread) -> Outcome {
        players[thread].PlayFor(plan, next_lot, plan.lots.size(), seconds);
        return {};
      },
      [&](size_t thread) -> Outcome {
        if (Outcome started = players[thread].Start(subject); !started) return started;
        players[thread].PlayFor(plan, next_lot, 0, kWarmUp * seconds);
        return {};
      });
  if (!time) return std::unexpected(time.error());
  return Merged(players, *time);
}

}  // namespace nfswalk::bench
