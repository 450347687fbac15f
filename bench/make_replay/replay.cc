#include "bench/make_replay/replay.h"

#include <algorithm>
#include <functional>
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
constexpr size_t kLatenciesKept = 1 << 20;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What one thread does; its counters are its own until it has ended.
class Player {
 public:
  explicit Player(Worker& worker) : worker_(worker) { result_.latencies_ns.reserve(1 << 14); }

  void Play(const ReplayCall& call) {
    Answer answer;
    if (result_.ops % kSampleEvery == 0 && result_.latencies_ns.size() < kLatenciesKept) {
      auto start = Clock::now();
      answer = worker_.Ask(call);
      auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
      result_.latencies_ns.push_back(static_cast<uint32_t>(elapsed.count()));
    } else {
      answer = worker_.Ask(call);
    }
    ++result_.ops;
    if (!Matches(call, answer)) [[unlikely]] Miss(call, answer);
  }

  PassResult& result() { return result_; }

 private:
  void Miss(const ReplayCall& call, Answer answer) {
    ++result_.mismatches;
    if (result_.first_mismatches.size() >= kMismatchesKept) return;
    answer.link_text = {};
    result_.first_mismatches.push_back({call, answer});
  }

  Worker& worker_;
  PassResult result_;
};

void Merge(PassResult& into, PassResult&& from) {
  into.ops += from.ops;
  into.mismatches += from.mismatches;
  into.latencies_ns.insert(into.latencies_ns.end(), from.latencies_ns.begin(),
                           from.latencies_ns.end());
  for (auto& mismatch : from.first_mismatches) {
    if (into.first_mismatches.size() < kMismatchesKept) into.first_mismatches.push_back(mismatch);
  }
}

// Runs `play(player, thread index)` on every thread, all starting together; the time counts from then.
template <class Play>
std::expected<PassResult, std::string> RunThreads(Subject& subject, size_t threads, Play&& play) {
  PassResult total;
  std::optional<std::string> failure;
  std::mutex mutex;
  Clock::time_point start;
  std::barrier together(static_cast<std::ptrdiff_t>(threads),
                        [&]() noexcept { start = Clock::now(); });
  std::vector<std::thread> team;
  for (size_t i = 0; i < threads; ++i) {
    team.emplace_back([&, i] {
      auto worker = subject.MakeWorker();
      together.arrive_and_wait();
      if (!worker) {
        std::lock_guard guard(mutex);
        failure = worker.error();
        return;
      }
      Player player(**worker);
      play(player, i);
      std::lock_guard guard(mutex);
      Merge(total, std::move(player.result()));
    });
  }
  for (auto& thread : team) thread.join();
  total.seconds = SecondsSince(start);
  if (failure) return std::unexpected(*failure);
  return total;
}

}  // namespace

Workload::Workload(const Trace& trace) {
  auto ready = [&](const Call& call) {
    bool link = call.kind == CallKind::kReadLink && call.error == 0;
    return ReplayCall{&call, &trace.paths[call.path], link ? &trace.link_texts[call.link] : nullptr};
  };
  for (const auto& stream : trace.streams) {
    std::vector<ReplayCall> calls;
    calls.reserve(stream.size());
    for (const Call& call : stream) {
      (call.kind == CallKind::kReadDir ? listings_ : calls).push_back(ready(call));
    }
    calls_ += calls.size();
    if (!calls.empty()) streams_.push_back(std::move(calls));
  }
  std::ranges::stable_sort(streams_, std::greater<>(), [](const auto& s) { return s.size(); });
}

std::vector<const std::vector<ReplayCall>*> Workload::StreamsOf(size_t index, size_t count) const {
  std::vector<size_t> load(count, 0);
  std::vector<const std::vector<ReplayCall>*> mine;
  for (const auto& stream : streams_) {
    size_t lightest = static_cast<size_t>(std::ranges::min_element(load) - load.begin());
    load[lightest] += stream.size();
    if (lightest == index) mine.push_back(&stream);
  }
  if (mine.empty() && !streams_.empty()) mine.push_back(&streams_.front());
  return mine;
}

std::expected<PassResult, std::string> RunOnce(Subject& subject, const Workload& workload,
                                               size_t threads) {
  return RunThreads(subject, threads, [&](Player& player, size_t index) {
    for (const auto* stream : workload.StreamsOf(index, threads)) {
      for (const ReplayCall& call : *stream) player.Play(call);
    }
    if (index != 0) return;
    for (const ReplayCall& call : workload.listings()) player.Play(call);
  });
}

std::expected<PassResult, std::string> RunFor(Subject& subject, const Workload& workload,
                                              size_t threads, double seconds) {
  return RunThreads(subject, threads, [&](Player& player, size_t index) {
    const auto streams = workload.StreamsOf(index, threads);
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
      for (const auto* stream : streams) {
        for (size_t i = 0; i < stream->size(); ++i) {
          if (i % kSampleEvery == 0 && Clock::now() >= end) return;
          player.Play((*stream)[i]);
        }
      }
    }
  });
}

std::expected<PassResult, std::string> RunSample(Subject& subject, const Workload& workload,
                                                 size_t calls_max) {
  auto worker = subject.MakeWorker();
  if (!worker) return std::unexpected(worker.error());
  Player player(**worker);
  auto start = Clock::now();
  for (const auto* stream : workload.StreamsOf(0, 1)) {
    for (const ReplayCall& call : *stream) {
      if (player.result().ops == calls_max) break;
      player.Play(call);
    }
  }
  player.result().seconds = SecondsSince(start);
  return std::move(player.result());
}

}  // namespace nfswalk::bench
