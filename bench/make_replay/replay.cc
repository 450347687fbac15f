#include "bench/make_replay/replay.h"

#include <linux/limits.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace nfswalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kSampleEvery = 64;
constexpr size_t kMismatchesKept = 10;
constexpr size_t kLatenciesKept = size_t{1} << 18;

uint32_t NanosecondsSince(Clock::time_point start) {
  return static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// What reading the clock twice takes, to be subtracted from each sample.
uint32_t ClockCostNs() {
  uint32_t least = UINT32_MAX;
  for (int i = 0; i < 1000; ++i) least = std::min(least, NanosecondsSince(Clock::now()));
  return least;
}

double ThreadCpuSeconds() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// What one thread does; its counters are its own until it has ended.
class Player {
 public:
  explicit Player(SubjectThread& subject) : subject_(subject), clock_cost_ns_(ClockCostNs()) {
    result_.latencies_ns.reserve(kLatenciesKept);
  }

  void Play(const ReplayCall& call) {
    ++result_.ops;
    const Answer answer = subject_.Ask(call, link_text_);
    if (!Matches(call, answer, link_text_.data())) [[unlikely]]
      Miss(call, answer);
  }

  void PlayTimed(const ReplayCall& call) {
    const Clock::time_point start = Clock::now();
    Play(call);
    const uint32_t elapsed = NanosecondsSince(start);
    if (result_.latencies_ns.size() == kLatenciesKept) return;
    result_.latencies_ns.push_back(elapsed - std::min(elapsed, clock_cost_ns_));
  }

  PassResult& result() { return result_; }

 private:
  void Miss(const ReplayCall& call, const Answer& answer) {
    ++result_.mismatches;
    if (result_.first_mismatches.size() == kMismatchesKept) return;
    Mismatch mismatch{&call, answer};
    if (call.kind == CallKind::kReadLink && answer.error == 0) {
      mismatch.link_text.assign(link_text_.data(), answer.size_bytes);
    }
    result_.first_mismatches.push_back(std::move(mismatch));
  }

  SubjectThread& subject_;
  const uint32_t clock_cost_ns_;
  PassResult result_;
  std::array<char, PATH_MAX> link_text_{};
};

void Merge(PassResult& into, PassResult&& from) {
  into.ops += from.ops;
  into.mismatches += from.mismatches;
  into.cpu_seconds += from.cpu_seconds;
  into.latencies_ns.insert(into.latencies_ns.end(), from.latencies_ns.begin(),
                           from.latencies_ns.end());
  for (Mismatch& mismatch : from.first_mismatches) {
    if (into.first_mismatches.size() == kMismatchesKept) break;
    into.first_mismatches.push_back(std::move(mismatch));
  }
}

// Runs `play(player)` on every thread, all starting together.
template <typename Play>
std::expected<PassResult, std::string> RunThreads(Subject& subject, size_t threads,
                                                  const Play& play) {
  PassResult total;
  std::optional<std::string> failure;
  std::mutex mutex;
  Clock::time_point start;
  std::barrier together(static_cast<ptrdiff_t>(threads), [&]() noexcept { start = Clock::now(); });
  std::vector<std::jthread> team;
  for (size_t i = 0; i < threads; ++i) {
    team.emplace_back([&] {
      auto hands = subject.StartThread();
      std::optional<Player> player;
      if (hands) player.emplace(**hands);
      together.arrive_and_wait();
      const double cpu_before = ThreadCpuSeconds();
      if (player) play(*player);
      if (player) player->result().cpu_seconds = ThreadCpuSeconds() - cpu_before;
      const std::lock_guard guard(mutex);
      if (player) {
        Merge(total, std::move(player->result()));
      } else {
        failure = hands.error();
      }
    });
  }
  for (std::jthread& thread : team) thread.join();
  total.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (failure) return std::unexpected(std::move(*failure));
  return total;
}

}  // namespace

bool Matches(const ReplayCall& call, const Answer& answer, const char* link_text) {
  if (answer.error != call.error) return false;
  if (answer.error != 0) return true;
  switch (call.kind) {
    case CallKind::kStat:
      return answer.mode == call.mode &&
             (call.size_bytes == kSizeNotCompared || answer.size_bytes == call.size_bytes);
    case CallKind::kReadLink:
      return std::string_view(link_text, answer.size_bytes) == call.link_text;
    default:
      return true;
  }
}

std::expected<PassResult, std::string> RunOnce(Subject& subject, const ReplayPlan& plan,
                                               size_t threads, size_t one_in,
                                               const std::atomic<bool>& stop) {
  std::atomic<size_t> next_lot = 0;
  std::atomic<size_t> next_listing = 0;
  return RunThreads(subject, threads, [&](Player& player) {
    for (size_t lot; (lot = next_lot.fetch_add(1)) < plan.lots().size();) {
      for (size_t i = plan.lots()[lot].begin; i < plan.lots()[lot].end; ++i) {
        if (i % one_in != 0) continue;
        if (stop.load(std::memory_order_relaxed)) return;
        player.PlayTimed(plan.calls()[i]);
      }
    }
    for (size_t i; (i = next_listing.fetch_add(1)) < plan.listings().size();) {
      if (stop.load(std::memory_order_relaxed)) return;
      player.Play(plan.listings()[i]);
    }
  });
}

std::expected<PassResult, std::string> RunFor(Subject& subject, const ReplayPlan& plan,
                                              size_t threads, double seconds,
                                              const std::atomic<bool>& stop) {
  const std::vector<Lot>& lots = plan.lots();
  if (lots.empty()) return std::unexpected(std::string("the trace has no call to replay"));
  std::atomic<size_t> next_lot = 0;
  const auto time_to_run =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  return RunThreads(subject, threads, [&](Player& player) {
    const Clock::time_point end = Clock::now() + time_to_run;
    for (;;) {
      const Lot& lot = lots[next_lot.fetch_add(1, std::memory_order_relaxed) % lots.size()];
      for (size_t i = lot.begin; i < lot.end; ++i) {
        if (player.result().ops % kSampleEvery != 0) {
          player.Play(plan.calls()[i]);
          continue;
        }
        player.PlayTimed(plan.calls()[i]);
        if (Clock::now() >= end || stop.load(std::memory_order_relaxed)) return;
      }
    }
  });
}

}  // namespace nfswalk::bench
